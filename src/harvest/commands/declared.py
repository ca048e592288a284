"""Declarations of plugins, as commands show them: settings and columns with their meanings.

``config_from`` builds an instance of a plugin's settings class from values of a recipe or file.
"""

from harvest.api.settings import describe as settings_of
from harvest.api.settings import structure as config_from
from harvest.plugins.building import columns_of, columns_of_record, names_for

__all__ = ["columns_of", "columns_of_record", "config_from", "names_for", "settings_of"]
