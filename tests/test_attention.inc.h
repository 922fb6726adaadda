/* The calls of test_attention.c in one precision; see num/both.h. All test data are doubles that are exact in float. */

static real *RN(narrow)(const double *x, size_t n)
{
    real *out = NULL;
    CHECK_OK(HKT_NEW(&out, n));
    for (size_t i = 0; i < n; i++)
        out[i] = (real)x[i];
    return out;
}

static void RN(widen)(real *x, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (double)x[i];
    hkt_free(x);
}

/* The arrays of a problem in this precision. */
typedef struct {
    hkt_attention a;
    real *owned[2 * HKT_MAX_LEVELS + 1];
} RN(inputs);

static void RN(inputs_make)(RN(inputs) *in, const problem *c)
{
    hkt_attention *a = &in->a;
    *in = (RN(inputs)){0};
    a->T = c->T;
    a->p = c->p;
    a->stride = c->s;
    a->n_levels = c->L;
    a->causal = c->causal;
    for (size_t l = 0; l < c->L; l++) {
        a->q[l] = in->owned[2 * l] = RN(narrow)(c->q[l], c->rows[l] * c->ld);
        a->k[l] = in->owned[2 * l + 1] = RN(narrow)(c->k[l], c->rows[l] * c->ld);
        a->ld_qk[l] = c->ld;
        a->weight[l] = (real)c->weight[l];
    }
    a->v = in->owned[2 * HKT_MAX_LEVELS] = RN(narrow)(c->v, c->T * c->ld);
    a->ld_v = c->ld;
}

static void RN(inputs_free)(RN(inputs) *in)
{
    for (size_t i = 0; i < 2 * HKT_MAX_LEVELS + 1; i++)
        hkt_free(in->owned[i]);
}

/* Forward and backward of the tiled kernel (fast) or of the reference. The forward pass runs in two row ranges. */
static void RN(run)(const problem *c, bool fast, results *r)
{
    RN(inputs) in;
    RN(inputs_make)(&in, c);
    const hkt_attention *a = &in.a;
    hkt_attention_work *w = NULL;
    real *d_o = RN(narrow)(c->d_o, c->T * c->ld), *o = RN(narrow)(r->o, c->T * c->ld), *lse = RN(narrow)(r->lse, c->T);
    real *dq[HKT_MAX_LEVELS], *dk[HKT_MAX_LEVELS], *dv = RN(narrow)(r->dv, c->T * c->ld), d_weight[HKT_MAX_LEVELS];
    size_t ld[HKT_MAX_LEVELS];
    for (size_t l = 0; l < c->L; l++) {
        dq[l] = RN(narrow)(r->dq[l], c->rows[l] * c->ld);
        dk[l] = RN(narrow)(r->dk[l], c->rows[l] * c->ld);
        ld[l] = c->ld;
    }
    if (fast) {
        /* Larger than needed, and not clean: a first call leaves its traces. */
        CHECK_OK(hkt_attention_work_create(&w, c->T + 7, c->p + 3, c->L, c->s));
        hkt_attention_forward(a, 0, c->T, o, c->ld, lse, w);
        hkt_attention_forward(a, c->T / 3, c->T, o, c->ld, lse, w);
        hkt_attention_forward(a, 0, c->T / 3, o, c->ld, lse, w);
        hkt_attention_backward(a, o, d_o, c->ld, lse, dq, dk, ld, dv, c->ld, d_weight, w);
    } else {
        CHECK_OK(hkt_attention_forward_ref(a, o, c->ld, lse, NULL));
        CHECK_OK(hkt_attention_backward_ref(a, d_o, c->ld, dq, dk, ld, dv, c->ld, d_weight));
    }
    hkt_attention_work_destroy(w);
    RN(widen)(o, c->T * c->ld, r->o);
    RN(widen)(lse, c->T, r->lse);
    RN(widen)(dv, c->T * c->ld, r->dv);
    for (size_t l = 0; l < c->L; l++) {
        RN(widen)(dq[l], c->rows[l] * c->ld, r->dq[l]);
        RN(widen)(dk[l], c->rows[l] * c->ld, r->dk[l]);
        r->d_weight[l] = (double)d_weight[l];
    }
    hkt_free(d_o);
    RN(inputs_free)(&in);
}
