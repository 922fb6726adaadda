# kurtosis-training.gp - kurtosis of the scores against the training step, from kurtosis-training.tsv (hkt-analyze kurtosis --run):
# a panel per layer, a curve per level and head, coloured by level.
load plots.'/style.gp'
data = from.'/kurtosis-training.tsv'
set datafile missing NaN # the rows of one head lie apart: what is between them does not break its curve
is_head(h) = stringcolumn('head') eq sprintf('%d', h)
stats data using (column('layer')) name 'N' nooutput
stats data using (column('level')) name 'L' nooutput
stats data using (stringcolumn('head') eq 'NA' ? 0 : column('head')) name 'H' nooutput
stats data using (stringcolumn('head') eq 'NA' ? 1 : column('kappa')) name 'K' nooutput
stats data using (column('step')) name 'S' nooutput
layers = int(N_max) + 1; levels = int(L_max) + 1; heads = int(H_max) + 1

wide = width_mm > 100
n_cols = wide ? (layers < 3 ? layers : 3) : layers < 2 ? 1 : 2
n_rows = (layers - 1) / n_cols + 1
key_cols = wide ? 8 : 3
key_rows = levels / key_cols + 1
left_mm = 14; right_mm = 5; gap_x_mm = 8; gap_y_mm = 17; top_mm = 6
legend_mm = 3 + 3.6 * key_rows; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 52 : 42) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
if (K_max > 3 * K_min) {
    set logscale y
    set ytics (0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 10000)
    set yrange [(K_min < 1 ? K_min : 1) * 0.9:(K_max > 3.5 ? K_max : 3.5) * 1.15]
} else {
    set yrange [(K_min < 1 ? K_min : 1) - 0.05:K_max + 0.05]
}
last = S_max > 0 ? S_max : 1.0 # one checkpoint: the first weights
set xrange [0:last]
step = 10.0**floor(log10(last))
step = last / step < 2 ? step / 2 : last / step < 5 ? step : 2 * step
set xtics step
do for [i = 0:layers - 1] {
    eval place_panel
    set title sprintf('layer %d', i)
    set xlabel (i + n_cols >= layers ? 'training step' : '')
    set ylabel (i % n_cols == 0 ? 'kurtosis κ' : '')
    set format y (i % n_cols == 0 ? '%g' : '')
    plot 1 with lines ls 10, for [l = 0:levels - 1] for [h = 0:heads - 1] data \
        using (column('step')):(column('layer') == i && column('level') == l && is_head(h) ? column('kappa') : NaN) \
        with linespoints lt l + 1 lw 0.9 ps dot * 0.8
}
eval place_legend
set key maxcols key_cols
plot 2 notitle, for [l = 0:levels - 1] keyentry with linespoints lt l + 1 title sprintf('level %d', l), \
     keyentry with lines ls 10 title 'normal'
unset multiplot
