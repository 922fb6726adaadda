# scores.gp - distribution of the standardised scores against the normal density, from histogram.tsv (hkt-analyze kurtosis
# --histogram): a panel per level, a curve per layer and head, coloured by layer. The density axis is logarithmic: where a curve
# falls to the lower edge there is no score. Triangles at the edges: all scores beyond, as a density on the last bin.
load plots.'/style.gp'
data = from.'/histogram.tsv'
stats data using (column('level')) name 'L' nooutput
stats data using (column('layer')) name 'N' nooutput
stats data using (column('count') > 0 ? abs(column('z')) : 0) name 'Z' nooutput
stats data using (column('density') > 0 ? column('density') : NaN) name 'D' nooutput
levels = int(L_max) + 1
layers = int(N_max) + 1
limit = ceil(Z_max)
lowest = 10**floor(log10(D_min))

# The tail bins, first and last of every head, are left out: that is also what separates the curves of two heads.
curve(level, layer) = column('level') == level && column('layer') == layer && stringcolumn('status') eq 'ok' ? \
    (column('density') > lowest ? column('density') : lowest / 10) : NaN
is_tail(level) = column('level') == level && stringcolumn('status') eq 'warning: tail' && column('count') > 0
array least[levels]
array most[levels]
array defined[levels]
array tail[levels]
tails = 0
do for [i = 0:levels - 1] {
    stats data using (column('level') == i && stringcolumn('status') eq 'ok') name 'K' nooutput
    defined[i + 1] = K_max
    stats data using (is_tail(i)) name 'K' nooutput
    tail[i + 1] = K_max
    tails = tails + tail[i + 1]
    if (defined[i + 1] > 0) {
        stats data using (column('level') == i ? column('kappa') : NaN) name 'K' nooutput
        least[i + 1] = K_min
        most[i + 1] = K_max
    }
}

wide = width_mm > 100
n_cols = wide ? (levels < 3 ? levels : levels == 4 ? 4 : 3) : levels < 2 ? 1 : 2
n_rows = (levels - 1) / n_cols + 1
left_mm = 16; right_mm = 3; gap_x_mm = 8; gap_y_mm = 17
top_mm = 10; legend_mm = wide ? 6 : 10; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 44 : 36) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set logscale y
set xrange [-limit:limit]
step = limit > 6 ? 5 : limit > 3 ? 3 : 1
set xtics step
set yrange [lowest:(D_max > 1 ? 10**ceil(log10(D_max)) : 1)]
set samples 400
do for [i = 0:levels - 1] {
    eval place_panel
    set title sprintf('level %d', i)."\n".(defined[i + 1] > 0 ? sprintf('κ %.3g to %.3g', least[i + 1], most[i + 1]) : 'κ not defined')
    set xlabel (i + n_cols >= levels ? 'standardised score (sd)' : '')
    set ylabel (i % n_cols == 0 ? 'density' : '')
    set format y (i % n_cols == 0 ? '10^{%L}' : '')
    plot for [layer = 0:(defined[i + 1] > 0 ? layers - 1 : -1)] data using (column('z')):(curve(i, layer)) with lines lt layer + 1 lw 0.9, \
         for [k = 1:(tail[i + 1] > 0)] data using (column('z')):(is_tail(i) ? column('density') : NaN):(column('layer') + 1) \
             with points pt 8 ps dot lc variable, \
         exp(-x**2 / 2) / sqrt(2 * pi) with lines ls 10 lw 1.6
}
eval place_legend
plot 2 notitle, for [layer = 0:layers - 1] keyentry with lines lt layer + 1 title sprintf('layer %d', layer), \
     keyentry with lines ls 10 lw 1.6 title 'normal', \
     for [k = 1:(tails > 0)] keyentry with points pt 8 ps dot lc rgb grey title sprintf('beyond ±%d', limit)
unset multiplot
