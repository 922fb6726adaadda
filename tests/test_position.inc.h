/* Body of test_position.c for one precision; see num/both.h. */

/* What a sequence leaves behind: its logits, and its own term of the gradient, which is in the rows of the embedding
 * since its tokens are its own. Times the number of sequences, a power of two, since the loss is their mean. */
typedef struct {
    real *logits, *grads;
} RN(trace);

static void RN(trace_free)(RN(trace) *t)
{
    hkt_free(t->logits);
    hkt_free(t->grads);
}

/* Runs the sequences order[0..n-1] of m as one batch. */
static RN(trace) RN(run)(const model *m, const size_t *first, size_t n, const size_t *order)
{
    RN(trace) t = {0};
    model part = *m;
    size_t length[MAX_SEQS], total = 0;
    int32_t tokens[MAX_SEQS * 130], labels[MAX_SEQS];
    for (size_t i = 0; i < n; i++) {
        length[i] = m->length[order[i]];
        labels[i] = m->labels[order[i]];
        memcpy(tokens + total, m->tokens + first[order[i]], length[i] * sizeof *tokens);
        total += length[i];
    }
    part.length = length;
    part.batch = (hkt_batch){.n_seq = n, .length = length, .tokens = tokens, .labels = labels};
    CHECK_OK(HKT_NEW(&t.logits, n * m->layout->config.classes));
    CHECK_OK(HKT_NEW(&t.grads, m->layout->total));
    RN(model_run)(&part, NULL, t.logits, NULL, t.grads);
    return t;
}

static void RN(expect_same)(const model *m, const RN(trace) *alone, const RN(trace) *batch, size_t n, size_t at,
                            size_t seq, size_t trial)
{
    const size_t C = m->layout->config.classes, d = m->layout->config.d_model, rows = VOCAB_EACH * d;
    const real *a = alone->grads + m->layout->embed + seq * rows, *b = batch->grads + m->layout->embed + seq * rows;
    if (memcmp(alone->logits, batch->logits + at * C, C * sizeof(real)))
        fail_msg("trial %zu: logits of sequence %zu at place %zu of %zu differ from those alone", trial, seq, at, n);
    for (size_t i = 0; i < rows; i++)
        if (a[i] != b[i] * (real)n)
            fail_msg("trial %zu: gradient of sequence %zu at place %zu of %zu: entry %zu: %.9g alone, %.9g", trial, seq,
                     at, n, i, (double)a[i], (double)b[i] * (double)n);
}

/* Sequence `seq` first, in the middle and last, with 1, 3 and 7 others in another order. */
static void RN(check_sequence)(const model *m, const size_t *first, size_t seq, hkt_rng *rng, size_t trial)
{
    size_t order[MAX_SEQS];
    RN(trace) alone = RN(run)(m, first, 1, &seq);
    for (size_t n = 2; n <= MAX_SEQS; n *= 2)
        for (size_t at = 0; at<n; at += n / 2> 1 ? n / 2 - 1 : 1) {
            size_t others[MAX_SEQS], k = 0;
            for (size_t i = 0; i < MAX_SEQS; i++)
                if (i != seq)
                    others[k++] = i;
            hkt_rng_shuffle(rng, others, k);
            for (size_t i = 0; i < n; i++)
                order[i] = i == at ? seq : others[i - (i > at)];
            hkt_isa_level best = hkt_isa_current();
            hkt_isa_select((hkt_isa_level)hkt_rng_below(rng, (uint64_t)best + 1));
            RN(trace) batch = RN(run)(m, first, n, order);
            RN(expect_same)(m, &alone, &batch, n, at, seq, trial);
            RN(trace_free)(&batch);
            hkt_isa_select(best);
        }
    RN(trace_free)(&alone);
}

/* MAX_SEQS random sequences, each with tokens of its own. */
static model RN(make)(const hkt_config *config, hkt_rng *rng, size_t *first)
{
    size_t length[MAX_SEQS];
    for (size_t b = 0; b < MAX_SEQS; b++)
        length[b] = 1 + hkt_rng_below(rng, config->max_len);
    model m = model_random(config, MAX_SEQS, length, hkt_rng_u64(rng));
    for (size_t b = 0, i = 0; b < MAX_SEQS; b++) {
        first[b] = i;
        for (size_t k = 0; k < length[b]; k++, i++)
            m.tokens[i] = (int32_t)(b * VOCAB_EACH + (size_t)m.tokens[i] % VOCAB_EACH);
    }
    return m;
}

static void RN(check_positions)(const hkt_config *config, hkt_rng *rng, size_t trial)
{
    size_t first[MAX_SEQS];
    model m = RN(make)(config, rng, first);
    RN(check_sequence)(&m, first, hkt_rng_below(rng, MAX_SEQS), rng, trial);
    model_free(&m);
}

static inline void RN(check_control)(const hkt_config *config)
{
    hkt_rng rng = hkt_rng_make(HKT_DEFAULT_SEED, HKT_STREAM_TEST, 80);
    size_t first[MAX_SEQS], one = 1;
    model m = RN(make)(config, &rng, first);
    RN(trace) before = RN(run)(&m, first, 1, &one);
    int32_t *token = m.tokens + first[1];
    *token = *token == VOCAB_EACH ? VOCAB_EACH + 1 : VOCAB_EACH;
    RN(trace) after = RN(run)(&m, first, 1, &one);
    assert_memory_not_equal(before.logits, after.logits, config->classes * sizeof(real));
    assert_memory_not_equal(before.grads + m.layout->embed, after.grads + m.layout->embed,
                            config->vocab * config->d_model * sizeof(real));
    RN(trace_free)(&before);
    RN(trace_free)(&after);
    model_free(&m);
}
