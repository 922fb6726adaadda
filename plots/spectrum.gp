# spectrum.gp - eigenvalues of the Gram matrices of one sequence, from spectrum.tsv (hkt-analyze spectrum): a panel per level
# and one for the hierarchical sum; a curve per layer, head and sign, coloured by layer. Eigenvalues that are zero to rounding are not drawn (the
# axis is logarithmic); the titles give the largest number of each sign over layers and heads.
load plots.'/style.gp'
data = from.'/spectrum.tsv'
of_layer(n) = column('layer') == n
is_gram(name, sign) = stringcolumn('kind') eq 'gram' && stringcolumn('level') eq name && stringcolumn('sign') eq sign
is_drawn(x) = stringcolumn('kind') eq 'gram' && stringcolumn('sign') ne 'zero'
stats data using (stringcolumn('kind') eq 'form' ? real(stringcolumn('level')) : 0) name 'L' nooutput
stats data using (is_drawn(0) ? abs(column('eigenvalue')) : NaN) name 'E' nooutput
levels = int(L_max) + 1
stats data using (column('layer')) name 'N' nooutput
layers = int(N_max) + 1
panel_name(i) = i < levels ? sprintf('%d', i) : 'NA' # of column level
array positive[levels + 1]
array negative[levels + 1]
do for [i = 0:levels] {
    stats data using (is_gram(panel_name(i), 'positive') ? column('rank') : 0) name 'P' nooutput
    stats data using (is_gram(panel_name(i), 'negative') ? column('rank') : 0) name 'M' nooutput
    positive[i + 1] = P_max
    negative[i + 1] = M_max
}

wide = width_mm > 100
n_cols = !wide ? 2 : levels < 3 ? levels + 1 : 4
n_rows = levels / n_cols + 1
left_mm = 16; right_mm = 3; gap_x_mm = 6; gap_y_mm = 17
top_mm = 10; legend_mm = wide ? 6 : 3 + 3.6 * (layers / 2 + 1); bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 44 : 36) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set logscale y
set yrange [10**floor(log10(E_min)):10**ceil(log10(E_max))]
# The rows of one sign and head follow each other; rows of other kinds lie between heads and separate their curves.
do for [i = 0:levels] {
    eval place_panel
    set title (i < levels ? sprintf('level %d', i) : 'sum over levels')."\n". \
        sprintf(wide ? '%d positive, %d negative' : '%d pos., %d neg.', positive[i + 1], negative[i + 1])
    most = positive[i + 1] > negative[i + 1] ? positive[i + 1] : negative[i + 1]
    step = most > 100 ? 50 : most > 40 ? 20 : most > 20 ? 10 : most > 8 ? 4 : most > 4 ? 2 : 1
    set xrange [0:most + 1]
    set xtics step
    set xlabel (i + n_cols > levels ? 'rank by magnitude' : '')
    set ylabel (i % n_cols == 0 ? '|eigenvalue|' : '')
    set format y (i % n_cols == 0 ? '10^{%L}' : '')
    plot for [n = 0:(positive[i + 1] > 0 ? layers - 1 : -1)] data using (column('rank')): \
             (is_gram(panel_name(i), 'positive') && of_layer(n) ? abs(column('eigenvalue')) : NaN) \
             with linespoints lt n + 1 pt 7 dt solid lw 0.6 ps 0.28, \
         for [n = 0:(negative[i + 1] > 0 ? layers - 1 : -1)] data using (column('rank')): \
             (is_gram(panel_name(i), 'negative') && of_layer(n) ? abs(column('eigenvalue')) : NaN) \
             with linespoints lt n + 1 pt 8 dt (6,4) lw 0.6 ps 0.35
}
eval place_legend
set key maxcols (wide ? 6 : 2)
plot 2 notitle, for [n = 0:layers - 1] keyentry with lines lt n + 1 dt solid title sprintf('layer %d', n), \
     keyentry with linespoints lc rgb grey pt 7 dt solid lw 0.8 ps 0.45 title 'positive', \
     keyentry with linespoints lc rgb grey pt 8 dt (6,4) lw 0.8 ps 0.55 title 'negative'
unset multiplot
