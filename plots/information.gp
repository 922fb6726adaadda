# information.gp - what the kurtosis correction of the entropy is worth, from information.tsv (hkt-analyze information). (a) negentropy
# against kurtosis: the leading terms at zero skewness (dashed), two families of laws in closed form, and the scores of the model by
# spacings. (b) leading terms over negentropy: 1 is right; grey: within 10 %.
load plots.'/style.gp'
data = from.'/information.tsv'
is(what) = stringcolumn('kind') eq what
stats data using (column('negentropy') > 0 ? column('negentropy') : NaN) name 'J' nooutput
stats data using (column('kappa')) name 'K' nooutput
stats data using (is('scores') && column('negentropy') > 0 ? column('ratio') : NaN) name 'R' nooutput
stats data using (is('scores') ? column('layer') : 0) name 'N' nooutput
layers = int(N_max) + 1
top_kappa = 120

wide = width_mm > 100
n_cols = wide ? 2 : 1
n_rows = wide ? 1 : 2
left_mm = 16; right_mm = 4; gap_x_mm = 17; gap_y_mm = 18; top_mm = 6; legend_mm = wide ? 10 : 3 + 3.6 * (layers + 4); bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 56 : 46) + (n_rows - 1) * gap_y_mm
eval open_page
set multiplot
set logscale xy
set xrange [0.01:top_kappa]
set xlabel 'excess of the kurtosis, κ − 1'
set format x '10^{%L}'
set format y '10^{%L}'
of_layer(n) = is('scores') && column('layer') == n && column('kappa') > 1 && column('negentropy') > 0
i = 0
eval place_panel
set title '(a) negentropy'
set ylabel 'negentropy (nats)'
set yrange [1e-6:1e3]
plot 3.0 / 16 * x**2 with lines ls 10, \
     data using (is('student') ? column('kappa') - 1 : NaN):(column('negentropy')) with lines lt 3, \
     data using (is('power') ? column('kappa') - 1 : NaN):(column('negentropy')) with lines lt 4, \
     for [n = 0:layers - 1] data using (of_layer(n) ? column('kappa') - 1 : NaN):(column('negentropy')) with points lt n + 1
i = 1
eval place_panel
set title '(b) leading terms over negentropy'
set ylabel 'leading terms / negentropy'
set yrange [0.1:1e5]
set object 1 rectangle from 0.01, 0.9 to top_kappa, 1.1 fs solid 1.0 noborder fc rgb 0xDDDDDD behind
plot 1 with lines ls 11, \
     data using (is('student') ? column('kappa') - 1 : NaN):(column('ratio')) with lines lt 3, \
     data using (is('power') ? column('kappa') - 1 : NaN):(column('ratio')) with lines lt 4, \
     for [n = 0:layers - 1] data using (of_layer(n) ? column('kappa') - 1 : NaN):(column('ratio')) with points lt n + 1
unset object 1
eval place_legend
set key maxcols (wide ? 3 : 1)
plot 2 notitle, keyentry with lines ls 10 title '(3/16)(κ − 1)^2', keyentry with lines lt 3 title 'Student t', \
     keyentry with lines lt 4 title 'exponential power', \
     for [n = 0:layers - 1] keyentry with points lt n + 1 title sprintf('scores, layer %d', n), \
     keyentry with boxes fs solid 1.0 noborder lc rgb 0xDDDDDD title 'within 10 %'
unset multiplot
