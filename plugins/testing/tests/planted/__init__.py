"""Sound plugins, and bugs that authors could plant in them: one for each promise of the kit."""
