# decay.gp - error of the best hierarchical sum against the number of levels, from decay.tsv (hkt-analyze decay): points: found (an upper
# bound of the least error); grey band: down to its lower bound; dashed: geometric fit C rho^L; solid: fit f + C q^L with a floor;
# titles: the law that was accepted, or none.
load plots.'/style.gp'
data = from.'/decay.tsv'
set datafile missing NaN
stats data using (column('levels')) name 'L' nooutput
stats data using (stringcolumn('target') eq 'scores' ? real(stringcolumn('layer')) : 0) name 'N' nooutput
layers = int(N_max) + 1
shown = layers < 4 ? layers : 4
panels = shown + 2
is(k) = k <= shown ? stringcolumn('target') eq 'scores' && stringcolumn('layer') eq sprintf('%d', k - 1) : \
    stringcolumn('target') eq (k == shown + 1 ? 'exponential kernel' : 'power kernel')

wide = width_mm > 100
n_cols = wide ? (panels < 5 ? panels : 3) : 2
n_rows = (panels - 1) / n_cols + 1
left_mm = 16; right_mm = 3; gap_x_mm = wide ? 13 : 15; gap_y_mm = 20; top_mm = 9; legend_mm = wide ? 6 : 10; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * (wide ? 44 : 34) + (n_rows - 1) * gap_y_mm
array law[panels]; array rho[panels]
do for [k = 1:panels] {
    stats data using (is(k) ? (name = stringcolumn('law'), stringcolumn('rho') eq 'NA' ? -1 : column('rho')) : NaN) name 'R' nooutput
    law[k] = name
    rho[k] = R_max
}
# The ratio is that of the geometric fit: said where that is what was accepted.
accepted(k) = law[k] eq 'undecided' ? 'accepted law: none' : \
    'accepted law: '.law[k].(law[k] eq 'geometric' && rho[k] >= 0 ? sprintf(', ρ = %.3f', rho[k]) : '')
eval open_page
set multiplot
unset mxtics
set xrange [0.5:L_max + 0.5]
step = L_max > 9 ? 2 : 1
set xtics step
set yrange [0:*]
do for [k = 1:panels] {
    i = k - 1
    eval place_panel
    set title (k <= shown ? sprintf('layer %d', k - 1) : k == shown + 1 ? 'exp(−8|i−j|/T)' : '1/(1+|i−j|)')."\n".accepted(k)
    set xlabel (i + n_cols >= panels ? 'levels L' : '')
    set ylabel (i % n_cols == 0 ? 'relative error' : '')
    curve(name) = sprintf("data using (is(k) ? column('levels') : NaN):(column('%s'))", name)
    fits = rho[k] < 0 ? '' : curve('geometric').' with lines ls 10, '.curve('floor').' with lines lt 2 dt solid lw 1.0, '
    eval 'plot '.curve('bound').":(column('error')) with filledcurves fc rgb 0xDDDDDD fs solid 1.0 noborder, ".fits. \
        curve('error').' with points lt 1'
}
eval place_legend
set key maxcols (wide ? 4 : 2)
plot 2 notitle, keyentry with points lt 1 title 'error found', \
     keyentry with boxes fs solid 1.0 noborder lc rgb 0xDDDDDD title 'to lower bound', \
     keyentry with lines ls 10 title 'geometric C ρ^L', keyentry with lines lt 2 dt solid title 'with a floor'
unset multiplot
