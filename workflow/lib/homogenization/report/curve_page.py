"""The HTML around the charts of the page of curves, as a Jinja template; the inputs are put in by Vega."""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Curves: every metric by depth</title>
<style>
body { margin: 0; color: #222; background: #fff; font: 14px/1.4 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
#page { display: flex; align-items: flex-start; gap: 1.5rem; padding: 0.75rem 1rem; }
#choices { flex: 0 0 17rem; }
#charts { flex: 1; min-width: 0; overflow-x: auto; }
h1 { margin: 0 0 0.5rem; font-size: 1.15rem; }
fieldset { margin: 0 0 0.6rem; padding: 0; border: 0; }
legend { padding: 0; font-weight: 600; }
.boxes { max-height: 14rem; overflow-y: auto; }
.vega-bind label { display: block; }
.vega-bind-name { display: block; font-weight: 600; }
select { width: 100%; margin-bottom: 0.5rem; padding: 0.2rem; font: inherit; }
.box { display: flex; align-items: center; gap: 0.4rem; }
.box svg { flex: none; }
.box label { display: flex; flex-direction: row-reverse; justify-content: flex-end; align-items: center; gap: 0.3rem; }
.box .vega-bind-name { font-weight: normal; }
:focus-visible { outline: 2px solid #0173b2; outline-offset: 1px; }
.note { margin: 0 0 0.5rem; color: #444; font-size: 12.5px; }
@media (max-width: 800px) { #page { display: block; } }
@media print {
  #page { display: block; padding: 0; }
  #choices { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
  h1, .note { flex-basis: 100%; }
  .boxes { max-height: none; }
  .box:has(input:not(:checked)), .box input { display: none; }
  select { border: 0; padding: 0; appearance: none; }
  #charts { overflow: visible; }
  #charts svg { max-width: 100%; height: auto; }
}
</style>
</head>
<body>
<div id="page">
<div id="choices">
<h1>Curves</h1>
<div id="metric"></div>
<div id="view"></div>
<fieldset><legend>Models</legend><div class="boxes">
{% for _ in models %}
<div class="box"><span id="m{{ loop.index0 }}"></span></div>
{% endfor %}
</div></fieldset>
<fieldset><legend>Variants</legend><div class="boxes">
{% for place, colour, dashes, marker in variants %}
<div class="box"><span id="v{{ place }}"></span>
<svg width="34" height="12" aria-hidden="true" stroke="{{ colour }}" fill="{{ colour }}">
<line x2="34" y1="6" y2="6" stroke-width="1.6" stroke-dasharray="{{ dashes | join(" ") }}"/>
<path d="{{ marker }}" transform="translate(17 6) scale(3.5)" stroke="none"/></svg>
</div>
{% endfor %}
{% for variant in not_drawn %}
<p class="note">{{ variant }}</p>
{% endfor %}
</div></fieldset>
{% if pairs %}
<div id="pair"></div>
{% else %}
<p class="note">This study compares no variants.</p>
{% endif %}
<p class="note">{{ counts }}.</p>
<p class="note">Point at a marker for its numbers. Vertical scales differ between panels. The state after the final norm
is no part of a curve.</p>
{% if left_out %}
<p class="note">{{ left_out }}</p>
{% endif %}
<noscript><p>The charts need JavaScript, which stands in this file.</p></noscript>
</div>
<div id="charts"></div>
</div>
<script>{{ scripts }}</script>
<script>
vegaEmbed("#charts", {{ spec }}, {"mode": "vega-lite", "renderer": "svg", "actions": false, "logLevel": 1}).catch(console.error);
</script>
</body>
</html>
"""
