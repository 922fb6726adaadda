# cost.gp - what the hierarchy costs, from cost.tsv (hkt-analyze cost).
# (a) pairs of tokens scored over those of standard attention, R = sum_l (T_l/T)^2, against T, for L levels; points: not below
#     the bound. (b) all of attention (solid) and the whole layer (dashed) against T/d.
load plots.'/style.gp'
wide = width_mm > 100
data = from.'/cost.tsv'

stats data using (column('levels')) name 'L' nooutput
stats data using (column('stride')) name 'S' nooutput
stats data using (column('d_model')) name 'D' nooutput
stats data using (column('tokens')) name 'T' nooutput
stats data using (column('bound')) name 'B' nooutput
stats data using (stringcolumn('quantity') eq 'pairs' && column('tokens') > 1 ? column('ratio') : NaN) name 'R' nooutput
levels = int(L_max)
bound_text = S_max == 2 ? '4/3' : sprintf('%d/%d', S_max * S_max, S_max * S_max - 1)
pick(quantity, level, from_T) = stringcolumn('quantity') eq quantity && column('levels') == level && column('tokens') >= from_T ? \
    column('ratio') : NaN

n_cols = wide ? 2 : 1
n_rows = wide ? 1 : 2
left_mm = 13; right_mm = 4; top_mm = 6; bottom_mm = wide ? 21 : 24; gap_x_mm = 15; gap_y_mm = 20; legend_mm = wide ? 8 : 11
height_mm = wide ? 74 : 135
eval open_page
set multiplot
set logscale x 2
set ylabel 'cost over standard attention'
unset key

i = 0
eval place_panel
set title '(a) score matrices, R = Σ_l (T_l/T)^2'
set xlabel 'sequence length T (tokens)'
set format x '2^{%L}'
set xrange [2:T_max]
set yrange [0.95:(R_max > 1.6 ? R_max : 1.6) + 0.05]
plot for [l = 1:levels] data using (column('tokens')):(pick('pairs', l, 2)) with lines lt l dt solid, \
     for [l = 1:levels] data using (column('tokens')):(column('ratio') >= column('bound') ? pick('pairs', l, 2) : NaN) \
         with points lt l, \
     B_max with lines ls 10

i = 1
eval place_panel
set title '(b) attention with its projections; whole layer'
set xlabel sprintf('T/d (d = %d)', D_max)
set xrange [4.0 / D_max:*]
set yrange [*:*]
plot for [l = 1:levels] data using (column('tokens_per_d')):(pick('attention', l, 4)) with lines lt l dt solid, \
     for [l = 1:levels] data using (column('tokens_per_d')):(pick('layer', l, 4)) with lines lt l dt (12,6), \
     B_max with lines ls 10

eval place_legend
plot 2 notitle, for [l = 1:levels] keyentry with lines lt l dt solid title sprintf('L = %d', l), \
     keyentry with lines ls 10 title 'bound '.bound_text, \
     keyentry with points lt 1 lc rgb grey title 'R ≥ '.bound_text, \
     keyentry with lines lt 1 lc rgb grey title 'attention', \
     keyentry with lines lt 1 dt (12,6) lc rgb grey title 'layer'
unset multiplot
