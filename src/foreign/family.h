/* family.h - the families of models whose attention is read: one row each. How to add one:
 *   1. a row of the table in family.c: the words of its config.json, the names of its tensors, what its attention adds.
 *   2. tests/foreign_models.py: a small model of it, and what numpy says of that.
 *   3. docs/foreign.md. */
#ifndef HKT_FOREIGN_FAMILY_H
#define HKT_FOREIGN_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

/* How query and key weights lie in tensors. */
typedef enum {
    HKT_APART,        /* a tensor each */
    HKT_FUSED_BLOCKS, /* one tensor: the queries of all heads, then the keys of all, then the values */
    HKT_FUSED_HEADS   /* one tensor: for every head its queries, keys and values */
} hkt_fusing;

/* What the norm before attention does to a vector of d numbers: nothing; x / root mean square; the same after the mean
 * is taken away. */
typedef enum { HKT_NORM_NONE, HKT_NORM_RMS, HKT_NORM_CENTRED } hkt_norm;

/* Names of tensors, {layer} for the number of the layer, {previous} for the one before it. Any of them but `query` may
 * be NULL, and any but `query` and `key` may be missing in a file. A name with line feeds is a list, a line for each
 * layer. */
typedef struct {
    const char *query, *query_bias, *key, *key_bias; /* key: NULL when fused */
    const char *gain, *shift;                        /* of the norm before attention */
    const char *first_gain, *first_shift;            /* where {previous} does not exist: of layer 0 */
    const char *query_gain, *key_gain;               /* of a norm of every head's queries and keys */
} hkt_foreign_names;

/* The rest of a layer up to the next one's scores, for families whose forward pass is made
 * (analysis/foreign/forward.h). Patterns as above; NULL: there is none, but for `value`: the third part of the fused
 * tensor. The part after attention is down(silu(gate(x)) up(x)) with a gate, down(gelu(up(x))), the approximation by
 * tanh, without. */
typedef struct {
    const char *embedding, *positions; /* of tokens [vocabulary, d]; learned positions [tokens, d] */
    const char *value, *value_bias, *output, *output_bias;
    const char *gain, *shift; /* of the norm before that part, of the kind of the one before attention */
    const char *gate, *up, *up_bias, *down, *down_bias;
} hkt_forward_names;

typedef struct {
    const char *name;  /* "gpt2" */
    const char *types; /* values of model_type in config.json, separated by spaces */
    /* Keys of config.json, alternatives separated by '|'. A missing key_heads stands for as many as heads, a missing
     * head_width for width / heads. */
    const char *layers, *heads, *key_heads, *width, *head_width;
    hkt_foreign_names names;
    hkt_fusing fusing;
    bool transposed; /* [in, out] instead of [out, in] */
    hkt_norm norm;
    double gain_offset; /* added to the stored gain */
    bool causal;
    bool unscaled;                    /* scores are q.k, not q.k / sqrt(p) */
    bool rotary;                      /* positions turn queries and keys */
    bool rotary_pairs;                /* turned together: elements 2i, 2i + 1; else i, i + rotated / 2 */
    const char *rotary_share;         /* key of config.json: turned share of a head's elements; NULL: all */
    const char *unused;               /* what its attention has besides, and is not looked at; NULL: nothing */
    const hkt_forward_names *forward; /* NULL: no forward pass */
} hkt_family;

/* All rows; *n how many. */
const hkt_family *hkt_families(size_t *n);
/* By name; NULL when there is none. */
const hkt_family *hkt_family_find(const char *name);
/* The first whose types have this one; NULL when there is none. */
const hkt_family *hkt_family_of_type(const char *type);
#endif
