// head.cpp - head.c in C++17: the same lines.
//     c++ -std=c++17 head.cpp $(pkg-config --cflags --libs hkt) -o head && ./head best.safetensors 3 1 4 1 5 9 2 6
#include <hkt/heads.h>
#include <hkt/inertia.h>
#include <hkt/kurtosis.h>
#include <hkt/psd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

static void check(hkt_status status)
{
    if (status != HKT_OK)
        throw std::runtime_error(hkt_error());
}

struct close_model {
    void operator()(hkt_model *model) const { hkt_model_close(model); }
};

// Exceptions must not pass through the C of the library: a visitor returns the status.
static hkt_status print_head(void *, const hkt_heads_view *h)
{
    hkt_kurtosis_result k;
    hkt_inertia_result e;
    if (hkt_status status = hkt_kurtosis_head(h->n, h->p, h->q, h->ld, h->k, h->ld, h->causal, &k))
        return status;
    if (hkt_status status = hkt_inertia_head(h->n, h->p, h->q, h->ld, h->k, h->ld, &e))
        return status;
    std::printf("head\t%zu\t%zu\t%zu\t%.17g\t%zu\t%zu\t%zu\n", h->layer, h->level, h->head, k.kappa, e.positive,
                e.negative, e.zero);
    return HKT_OK;
}

static hkt_status first_queries(void *self, const hkt_heads_view *h)
{
    auto &rows = *static_cast<std::vector<std::vector<double>> *>(self);
    if (h->layer + h->level + h->head == 0)
        for (size_t i = 0; i < h->n; i++)
            rows.emplace_back(h->q + i * h->ld, h->q + i * h->ld + h->p);
    return HKT_OK;
}

static void show(const char *path, const std::vector<int32_t> &tokens)
{
    hkt_model *opened;
    check(hkt_model_open(&opened, path));
    const std::unique_ptr<hkt_model, close_model> model(opened);
    hkt_model_shape shape;
    check(hkt_model_get_shape(model.get(), &shape));

    const size_t n = tokens.size();
    std::vector<double> logits(shape.classes);
    check(hkt_model_forward(model.get(), 1, &n, tokens.data(), logits.data()));
    for (size_t i = 0; i < logits.size(); i++)
        std::printf("logit\t%zu\t%.17g\n", i, logits[i]);
    check(hkt_heads_walk(model.get(), n, tokens.data(), print_head, nullptr));

    std::vector<std::vector<double>> q;
    check(hkt_heads_walk(model.get(), n, tokens.data(), first_queries, &q));
    std::vector<double> gram(q.size() * q.size());
    for (size_t i = 0; i < q.size(); i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j;
            for (size_t c = 0; c < q[i].size(); c++)
                sum += q[i][c] * q[j][c];
            gram[i * q.size() + j] = gram[j * q.size() + i] = sum;
        }
    hkt_psd_certificate certificate;
    check(hkt_psd_certify(q.size(), gram.data(), &certificate));
    std::printf("certificate\t%s\n", hkt_psd_verdict_name(certificate.verdict));
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: head CHECKPOINT TOKEN...\n");
        return 2;
    }
    try {
        std::vector<int32_t> tokens;
        for (int i = 2; i < argc; i++)
            tokens.push_back(static_cast<int32_t>(std::strtol(argv[i], nullptr, 10)));
        show(argv[1], tokens);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "head: %s\n", e.what());
        return 3;
    }
    return 0;
}
