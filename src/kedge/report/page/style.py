"""The style sheet of reports: light and dark by the reader's setting, and a form for paper."""

STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfaf8; --card: #ffffff; --ink: #1d2430; --soft: #5d6776; --line: #e3e0da;
  --accent: #0b6e6e; --before: #c2703d; --after: #0b6e6e; --reached: #46589c;
  --good: #2d7d46; --warn: #a86a00; --bad: #b3362b; --grid: #ece9e3 }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14181d; --card: #1b2027; --ink: #e6e8ea; --soft: #9aa5b1; --line: #2d343d;
  --accent: #4fb8b0; --before: #e0975f; --after: #4fb8b0; --reached: #94a5ea;
  --good: #6cc28a; --warn: #dba64a; --bad: #ef8377; --grid: #262d35 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 "Inter", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", sans-serif }
main { max-width: 62rem; margin: 0 auto; padding: 2.6rem 1.4rem 4rem }
header { border-bottom: 3px solid var(--accent); padding-bottom: 1.1rem; margin-bottom: 1.6rem }
.kind { color: var(--accent); font-weight: 650; letter-spacing: .07em; text-transform: uppercase;
  font-size: .74rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .25rem 0 .3rem; letter-spacing: -.015em;
  font-weight: 680; overflow-wrap: anywhere }
.lead { font-size: 1.08rem; max-width: 46rem; margin: .5rem 0 0 }
h2 { font-size: 1.22rem; margin: 2.6rem 0 .5rem; letter-spacing: -.008em; font-weight: 650 }
p { margin: .45rem 0; max-width: 46rem }
.facts { display: flex; flex-wrap: wrap; gap: .8rem; margin: 0; padding: 0 }
.fact { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: .75rem .95rem .8rem; margin: 0; flex: 1 1 11.5rem }
.fact dt { color: var(--soft); font-size: .8rem }
.fact dd { margin: 0 }
.fact .value { font-size: 1.42rem; font-weight: 640; font-variant-numeric: tabular-nums;
  letter-spacing: -.015em; line-height: 1.3 }
.fact .note { color: var(--soft); font-size: .8rem; line-height: 1.4 }
.good .value { color: var(--good) } .warn .value { color: var(--warn) }
.bad .value { color: var(--bad) }
figure { margin: 1.1rem 0 1.5rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; padding: 1rem 1.1rem .8rem; break-inside: avoid }
figure svg { width: 100%; height: auto; display: block }
figcaption { color: var(--soft); font-size: .85rem; margin-top: .6rem; max-width: 50rem }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  gap: 0 1rem } .beside figure { margin: .6rem 0 }
.table { overflow-x: auto; margin: .8rem 0 1.2rem }
table { border-collapse: collapse; width: 100%; font-size: .88rem;
  font-variant-numeric: tabular-nums }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .78rem;
  border-bottom: 1.5px solid var(--line); padding: .35rem .7rem .35rem 0; white-space: nowrap }
td { border-bottom: 1px solid var(--grid); padding: .36rem .7rem .36rem 0; vertical-align: top }
td.r, th.r { text-align: right } details td:not(:last-child) { white-space: nowrap }
details { border: 1px solid var(--line); border-radius: 10px; background: var(--card);
  padding: .3rem 1rem; margin: .8rem 0 }
summary { cursor: pointer; padding: .45rem 0; font-weight: 600 }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px }
.more, footer { color: var(--soft); font-size: .85rem }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem }
svg text { fill: var(--ink); font: 12px/1 "Inter", "Segoe UI", system-ui, sans-serif }
svg .soft { fill: var(--soft) } svg .strong { font-weight: 650 }
svg .grid { stroke: var(--grid) } svg .axis { stroke: var(--soft) }
svg .before { fill: var(--before) } svg .after { fill: var(--after) }
svg .reached { fill: var(--reached) } svg .track { fill: var(--grid) }
svg .link { stroke: var(--line); stroke-width: 3 } svg .line { fill: none; stroke-width: 2.2 }
svg .hollow { fill: var(--card); stroke: var(--before); stroke-width: 2.2 }
svg .badfill { fill: var(--bad) } svg .warnfill { fill: var(--warn) }
svg .s0 { stroke: var(--accent); fill: var(--accent) } svg .s1 { stroke: var(--before);
  fill: var(--before) } svg .s2 { stroke: var(--reached); fill: var(--reached) }
svg .s3 { stroke: var(--warn); fill: var(--warn) } svg .s4 { stroke: var(--good);
  fill: var(--good) } svg .s5 { stroke: var(--bad); fill: var(--bad) }
svg .line { fill: none !important } svg .s5text { fill: var(--bad) }
@media (max-width: 34rem) { main { padding: 1.4rem .9rem 3rem } h1 { font-size: 1.5rem }
  figure { padding: .7rem .5rem; overflow-x: auto } figure svg { min-width: 30rem }
  .fact { flex-basis: 9rem; padding: .6rem .7rem } }
@media print { :root { --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ccc;
    --grid: #e6e6e6 }
  body { font-size: 10.5pt } main { max-width: none; padding: 0 } h2 { break-after: avoid }
  tr, .fact { break-inside: avoid } details::details-content { content-visibility: visible }
  .beside { grid-template-columns: repeat(2, 1fr) }
  figure, .fact, details { border-radius: 0 } @page { margin: 16mm 14mm } }
"""
