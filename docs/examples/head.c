/* head.c - what the heads of a trained model look like on one sequence.
 *     cc -std=c11 head.c $(pkg-config --cflags --libs hkt) -o head && ./head best.safetensors 3 1 4 1 5 9 2 6 */
#include <hkt/heads.h>
#include <hkt/inertia.h>
#include <hkt/kurtosis.h>
#include <hkt/psd.h>
#include <stdio.h>
#include <stdlib.h>

static hkt_status print_head(void *self, const hkt_heads_view *h)
{
    hkt_kurtosis_result k;
    hkt_inertia_result e;
    (void)self;
    hkt_status status = hkt_kurtosis_head(h->n, h->p, h->q, h->ld, h->k, h->ld, h->causal, &k);
    if (status == HKT_OK)
        status = hkt_inertia_head(h->n, h->p, h->q, h->ld, h->k, h->ld, &e);
    if (status == HKT_OK)
        printf("head\t%zu\t%zu\t%zu\t%.17g\t%zu\t%zu\t%zu\n", h->layer, h->level, h->head, k.kappa, e.positive,
               e.negative, e.zero);
    return status;
}

/* The Gram matrix of the queries of the first head, q q^T + I, is positive definite: a proof, not an estimate. */
static hkt_status certify(void *self, const hkt_heads_view *h)
{
    hkt_psd_certificate *certificate = self;
    if (h->layer + h->level + h->head > 0)
        return HKT_OK;
    double *gram = calloc(h->n * h->n, sizeof *gram);
    if (!gram)
        return HKT_ESYSTEM;
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j;
            for (size_t c = 0; c < h->p; c++)
                sum += h->q[i * h->ld + c] * h->q[j * h->ld + c];
            gram[i * h->n + j] = gram[j * h->n + i] = sum;
        }
    hkt_status status = hkt_psd_certify(h->n, gram, certificate);
    free(gram);
    return status;
}

static hkt_status show(const hkt_model *model, size_t n, const int32_t *tokens)
{
    hkt_model_shape shape;
    hkt_psd_certificate certificate;
    hkt_status status = hkt_model_get_shape(model, &shape);
    double *logits = calloc(shape.classes, sizeof *logits);
    if (!logits)
        return HKT_ESYSTEM;
    if (status == HKT_OK)
        status = hkt_model_forward(model, 1, &n, tokens, logits);
    for (size_t i = 0; i < shape.classes && status == HKT_OK; i++)
        printf("logit\t%zu\t%.17g\n", i, logits[i]);
    free(logits);
    if (status == HKT_OK)
        status = hkt_heads_walk(model, n, tokens, print_head, NULL);
    if (status == HKT_OK)
        status = hkt_heads_walk(model, n, tokens, certify, &certificate);
    if (status == HKT_OK)
        printf("certificate\t%s\n", hkt_psd_verdict_name(certificate.verdict));
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: head CHECKPOINT TOKEN...\n");
        return 2;
    }
    hkt_model *model = NULL;
    const size_t n = (size_t)argc - 2;
    int32_t *tokens = calloc(n, sizeof *tokens);
    hkt_status status = tokens ? hkt_model_open(&model, argv[1]) : HKT_ESYSTEM;
    for (size_t i = 0; i < n && tokens; i++)
        tokens[i] = (int32_t)strtol(argv[i + 2], NULL, 10);
    if (status == HKT_OK)
        status = show(model, n, tokens);
    if (status != HKT_OK)
        fprintf(stderr, "head: %s\n", hkt_error());
    hkt_model_close(model);
    free(tokens);
    return (int)status;
}
