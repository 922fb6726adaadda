# lags.gp - what rotary positions do to the forms of a model's weights, from lags.tsv (hkt-analyze lags --model): negative mass,
# antisymmetric share and kappa of normal inputs against the distance of the tokens, a curve per head, coloured by layer. Points at the
# left edge: distance 0, which a logarithmic axis has not.
load plots.'/style.gp'
data = from.'/lags.tsv'
is(n) = stringcolumn('form') eq 'weights' && column('layer') == n
stats data using (column('layer')) name 'N' nooutput
stats data using (column('lag')) name 'L' nooutput
layers = int(N_max) + 1
array what[3] = ['negative_mass', 'antisymmetric', 'kappa']
array label[3] = ['negative mass', 'antisymmetric share', 'kurtosis κ of normal inputs']
# Rows of a head are one after the other by lag: without the one of lag 0 the curves of two heads are apart.
curve(n, k) = is(n) && column('lag') > 0 ? column(what[k]) : NaN
start(n, k) = is(n) && column('lag') == 0 ? column(what[k]) : NaN

wide = width_mm > 100
n_cols = wide ? 3 : 1
n_rows = wide ? 1 : 3
key_cols = wide ? 8 : 3
left_mm = 14; right_mm = 3; gap_x_mm = 14; gap_y_mm = 15; top_mm = 6
legend_mm = 3 + 3.6 * ((layers + 1) / key_cols + 1); bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 52 : 40) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set logscale x 2
set xrange [0.5:(L_max < 2 ? 2 : L_max)]
set xtics 4
set xlabel 'lag (tokens)'
do for [k = 1:3] {
    i = k - 1
    eval place_panel
    set title '('.substr('abc', k, k).') '.label[k]
    set ylabel label[k]
    if (k < 3) { set yrange [0:*] } else { set yrange [1:3] }
    plot for [n = 0:layers - 1] data using (column('lag')):(curve(n, k)) with lines lt n + 1 lw 0.7, \
         for [n = 0:layers - 1] data using (0.5):(start(n, k)) with points lt n + 1
}
eval place_legend
set key maxcols key_cols
plot 2 notitle, for [n = 0:layers - 1] keyentry with lines lt n + 1 title sprintf('layer %d', n)
unset multiplot
