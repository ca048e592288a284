// Draws the marks of a page's plots with BokehJS, in the place of the pictures they stand for.
Bokeh.set_log_level("warn");
const dark = matchMedia("(prefers-color-scheme: dark)").matches;

function bytes(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

async function unpacked(text) {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function figureOf(plot, colours) {
  const shown = (colour) => dark ? colours[colour] ?? colour : colour;
  const data = {...plot.texts, colour: plot.colours.map(shown)};
  for (const [side, numbers] of Object.entries(plot.sides)) {
    data[side] = new Float64Array(bytes(numbers).buffer);
  }
  const zoom = new Bokeh.BoxZoomTool();  // not the wheel, which scrolls the page
  const tools = [zoom, new Bokeh.PanTool(), new Bokeh.WheelZoomTool({dimensions: "width"}),
    new Bokeh.ResetTool(), new Bokeh.HoverTool({tooltips: plot.tips})];
  const figure = new Bokeh.Plotting.Figure({
    tools, active_drag: zoom, active_scroll: null, toolbar_location: "above",
    sizing_mode: "stretch_width", height: plot.height,
    background_fill_color: null, border_fill_color: null, outline_line_color: null,
  });
  figure.toolbar.logo = null;
  figure.quad({
    left: {field: "left"}, right: {field: "right"}, bottom: {field: "bottom"}, top: {field: "top"},
    fill_color: {field: "colour"}, line_color: {field: "colour"}, line_width: 0.5,
    source: new Bokeh.ColumnDataSource({data}),
    ...(plot.texts.legend && {legend_field: "legend"}),
  });
  const ink = shown(plot.ink), grid = shown(plot.grid);
  if (plot.texts.legend) {
    const legend = figure.legend;
    legend.location = "left";
    legend.orientation = "horizontal";
    legend.ncols = 3;
    legend.background_fill_color = legend.border_line_color = null;
    legend.label_text_color = ink;
    legend.padding = 0;
    figure.center = figure.center.filter((each) => each !== legend);
    figure.add_layout(legend, "above");
  }
  figure.xaxis.axis_label = plot.x;
  for (const axis of [figure.xaxis, figure.yaxis]) {
    axis.axis_label_text_color = axis.major_label_text_color = ink;
    axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = grid;
  }
  figure.xgrid.grid_line_color = grid;
  figure.ygrid.grid_line_color = null;
  if (plot.names.length) {
    figure.y_range.flipped = true;
    figure.yaxis.ticker = new Bokeh.FixedTicker({ticks: plot.names.map(([place]) => place)});
    figure.yaxis.major_label_overrides = new Map(plot.names);
  }
  return figure;
}

for (const data of document.querySelectorAll("script[data-plot]")) {
  const target = document.getElementById(data.dataset.plot);
  unpacked(data.textContent).then((plot) => {
    target.hidden = false;
    return Bokeh.Plotting.show(figureOf(plot, JSON.parse(data.dataset.colours)), target);
  }).then(() => { target.previousElementSibling.style.display = "none"; });
}
