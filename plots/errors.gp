# errors.gp - the three errors with which each head approximates a target score matrix, from errors.tsv (hkt-analyze
# errors), relative to the target: a panel per layer, three bars and their total per head. The total is at most the sum of
# the three (triangle inequality). The axis is logarithmic, with points for bars, when the least is below a thirtieth of
# the largest.
load plots.'/style.gp'
data = from.'/errors.tsv'
stats data using (column('layer')) name 'N' nooutput
stats data using (column('head')) name 'H' nooutput
stats data using (column('total') > column('optimisation') ? column('total') : column('optimisation')) name 'E' nooutput
layers = int(N_max) + 1; heads = int(H_max) + 1
array part[3]
part[1] = 'hierarchical'; part[2] = 'downsampling'; part[3] = 'optimisation'
array colour[3]
colour[1] = blue; colour[2] = orange; colour[3] = grey

wide = width_mm > 100
n_cols = wide ? (layers < 3 ? layers : 3) : layers < 2 ? 1 : 2
n_rows = (layers - 1) / n_cols + 1
left_mm = 14; right_mm = 3; gap_x_mm = 6; gap_y_mm = 17; top_mm = 6; legend_mm = wide ? 6 : 10; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 48 : 40) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
unset mxtics
set boxwidth 0.22
set style fill solid 1.0 noborder
set xrange [-0.5:heads - 0.5]
set xtics 1
least = E_max
do for [k = 1:3] {
    stats data using (column(part[k]) > 0 ? column(part[k]) : NaN) name 'P' nooutput
    least = least < P_min ? least : P_min
}
logarithmic = least < E_max / 30
if (logarithmic) {
    set logscale y
    set yrange [10**floor(log10(least)):E_max * 1.5]
} else {
    set yrange [0:E_max * 1.08]
}
# A bar has no length where the axis has no zero.
array mark[3]
do for [k = 1:3] {
    mark[k] = logarithmic ? sprintf(' with points pt %d ps dot * 1.2 lc rgb %d', 3 + 2 * k, colour[k]) : sprintf(' with boxes lc rgb %d', colour[k])
}
do for [i = 0:layers - 1] {
    eval place_panel
    set title sprintf('layer %d', i)
    set xlabel (i + n_cols >= layers ? 'head' : '')
    set ylabel (i % n_cols == 0 ? 'error / ||S*||' : '')
    set format y (i % n_cols > 0 ? '' : logarithmic ? '10^{%L}' : '%g')
    of_part(k) = sprintf("data using (column('layer') == i ? column('head') + 0.24 * (%d - 2) : NaN):(column('%s'))", k, part[k])
    drawn = ''
    do for [k = 1:3] { drawn = drawn.of_part(k).mark[k].', ' }
    eval 'plot '.drawn."data using (column('layer') == i ? column('head') - 0.38 : NaN):(column('total')):(0.76):(0) ". \
        'with vectors nohead lc rgb black lw 1.2 dt solid'
}
eval place_legend
set key maxcols (wide ? 4 : 2)
eval 'plot 2 notitle, for [k = 1:3] keyentry with '.(logarithmic ? 'points pt 3 + 2 * k ps dot * 1.2' : 'boxes')." lc rgb colour[k] title part[k], keyentry with lines lc rgb black lw 1.2 dt solid title 'total'"
unset multiplot
