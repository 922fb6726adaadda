# heads.gp - the heads of a model of another kind, from heads.tsv (hkt-analyze inertia --model): a column of panels per form, layers along
# the axis, a point per head. Above: negative mass, 0 for a PSD form, 1/2 for random weights. Below: stable rank over the dimension.
load plots.'/style.gp'
data = from.'/heads.tsv'
is(f) = stringcolumn('form') eq f && column('negative_mass') == column('negative_mass')
array form[4]
forms = 0
do for [f in 'weights norm affine group'] {
    stats data using (is(f)) name 'K' nooutput
    if (K_max > 0) { forms = forms + 1; form[forms] = f }
}
stats data using (column('layer')) name 'N' nooutput
stats data using (stringcolumn('head') eq '-' ? column('key_head') : column('head')) name 'H' nooutput
stats data using (column('stable_rank') / column('n')) name 'R' nooutput
stats data using (column('key_head')) name 'G' nooutput
layers = int(N_max) + 1; heads = int(H_max) + 1; groups = int(G_max) + 1
place(k) = column('layer') + 0.7 * (k eq 'group' ? (column('key_head') - (groups - 1) / 2.0) / groups : (column('head') - (heads - 1) / 2.0) / heads)

n_cols = forms
n_rows = 2
left_mm = 16; right_mm = 3; gap_x_mm = 5; gap_y_mm = 8; top_mm = 6; legend_mm = 6; bottom_mm = legend_mm + 12
height_mm = top_mm + bottom_mm + n_rows * 40 + gap_y_mm
eval open_page
set multiplot
unset mxtics
step = layers > 12 ? 8 : layers > 6 ? 2 : 1
set xtics step
set xrange [-0.6:layers - 0.4]
do for [k = 1:2] {
    do for [c = 1:forms] {
        i = (k - 1) * forms + c - 1
        eval place_panel
        set title (k == 1 ? form[c] : '')
        set xlabel (k == 2 ? 'layer' : '')
        set format x (k == 2 ? '%g' : '')
        set ylabel (c > 1 ? '' : k == 1 ? 'negative mass' : 'stable rank / n')
        set format y (c > 1 ? '' : '%g')
        if (k == 1) { set yrange [0:1] } else { set yrange [0:R_max * 1.1] }
        plot for [z = 1:(k == 1)] 0.5 with lines ls 11, \
            data using (is(form[c]) ? place(form[c]) : NaN):(k == 1 ? column('negative_mass') : column('stable_rank') / column('n')) \
                with points lt 1 pt 7 ps (layers * heads > 200 ? dot / 2 : dot)
    }
}
eval place_legend
plot 2 notitle, keyentry with points lt 1 pt 7 ps dot title 'head', keyentry with lines ls 11 title '1/2: as much of either sign'
unset multiplot
