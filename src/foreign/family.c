#include "foreign/family.h"

#include <string.h>

/* The name of a weight and that of its bias beside it. */
#define WITH_BIAS(weight, bias, name) .weight = name ".weight", .bias = name ".bias"

/* Words that many families share. */
#define COMMON_SIZES                                                                                                   \
    .layers = "num_hidden_layers", .heads = "num_attention_heads", .key_heads = "num_key_value_heads",                 \
    .width = "hidden_size", .head_width = "head_dim"
#define T5_SIZES .heads = "num_heads", .width = "d_model", .head_width = "d_kv"

static const hkt_forward_names of_gpt2 = {.embedding = "wte.weight",
                                          .positions = "wpe.weight",
                                          .output = "h.{layer}.attn.c_proj.weight",
                                          .output_bias = "h.{layer}.attn.c_proj.bias",
                                          .gain = "h.{layer}.ln_2.weight",
                                          .shift = "h.{layer}.ln_2.bias",
                                          .up = "h.{layer}.mlp.c_fc.weight",
                                          .up_bias = "h.{layer}.mlp.c_fc.bias",
                                          .down = "h.{layer}.mlp.c_proj.weight",
                                          .down_bias = "h.{layer}.mlp.c_proj.bias"};
static const hkt_forward_names of_llama = {.embedding = "embed_tokens.weight",
                                           .value = "layers.{layer}.self_attn.v_proj.weight",
                                           .value_bias = "layers.{layer}.self_attn.v_proj.bias",
                                           .output = "layers.{layer}.self_attn.o_proj.weight",
                                           .output_bias = "layers.{layer}.self_attn.o_proj.bias",
                                           .gain = "layers.{layer}.post_attention_layernorm.weight",
                                           .gate = "layers.{layer}.mlp.gate_proj.weight",
                                           .up = "layers.{layer}.mlp.up_proj.weight",
                                           .down = "layers.{layer}.mlp.down_proj.weight"};
static const hkt_forward_names of_llama2c = {.embedding = "tok_embeddings.weight",
                                             .value = "layers.{layer}.attention.wv.weight",
                                             .output = "layers.{layer}.attention.wo.weight",
                                             .gain = "layers.{layer}.ffn_norm.weight",
                                             .gate = "layers.{layer}.feed_forward.w1.weight",
                                             .up = "layers.{layer}.feed_forward.w3.weight",
                                             .down = "layers.{layer}.feed_forward.w2.weight"};

static const hkt_family families[] = {
    {.name = "gpt2",
     .types = "gpt2",
     .layers = "n_layer",
     .heads = "n_head",
     .width = "n_embd",
     .names = {WITH_BIAS(query, query_bias, "h.{layer}.attn.c_attn"), WITH_BIAS(gain, shift, "h.{layer}.ln_1")},
     .fusing = HKT_FUSED_BLOCKS,
     .transposed = true,
     .norm = HKT_NORM_CENTRED,
     .causal = true,
     .forward = &of_gpt2},
    {.name = "gpt_neox",
     .types = "gpt_neox",
     COMMON_SIZES,
     .names = {WITH_BIAS(query, query_bias, "layers.{layer}.attention.query_key_value"),
               WITH_BIAS(gain, shift, "layers.{layer}.input_layernorm")},
     .fusing = HKT_FUSED_HEADS,
     .norm = HKT_NORM_CENTRED,
     .causal = true,
     .rotary = true,
     .rotary_share = "rotary_pct|partial_rotary_factor"},
    {.name = "opt",
     .types = "opt",
     COMMON_SIZES,
     .names = {WITH_BIAS(query, query_bias, "decoder.layers.{layer}.self_attn.q_proj"),
               WITH_BIAS(key, key_bias, "decoder.layers.{layer}.self_attn.k_proj"),
               WITH_BIAS(gain, shift, "decoder.layers.{layer}.self_attn_layer_norm")},
     .norm = HKT_NORM_CENTRED,
     .causal = true},
    {.name = "llama",
     .types = "llama mistral mixtral qwen2 qwen3 qwen2_moe qwen3_moe",
     COMMON_SIZES,
     .names = {WITH_BIAS(query, query_bias, "layers.{layer}.self_attn.q_proj"),
               WITH_BIAS(key, key_bias, "layers.{layer}.self_attn.k_proj"),
               .gain = "layers.{layer}.input_layernorm.weight", .query_gain = "layers.{layer}.self_attn.q_norm.weight",
               .key_gain = "layers.{layer}.self_attn.k_norm.weight"},
     .norm = HKT_NORM_RMS,
     .causal = true,
     .rotary = true,
     .forward = &of_llama},
    {.name = "gemma",
     .types = "gemma gemma2",
     COMMON_SIZES,
     .names = {WITH_BIAS(query, query_bias, "layers.{layer}.self_attn.q_proj"),
               WITH_BIAS(key, key_bias, "layers.{layer}.self_attn.k_proj"),
               .gain = "layers.{layer}.input_layernorm.weight"},
     .norm = HKT_NORM_RMS,
     .gain_offset = 1,
     .causal = true,
     .rotary = true},
    {.name = "bert",
     .types = "bert roberta xlm-roberta camembert electra",
     COMMON_SIZES,
     .names = {WITH_BIAS(query, query_bias, "encoder.layer.{layer}.attention.self.query"),
               WITH_BIAS(key, key_bias, "encoder.layer.{layer}.attention.self.key"),
               WITH_BIAS(gain, shift, "encoder.layer.{previous}.output.LayerNorm"),
               WITH_BIAS(first_gain, first_shift, "embeddings.LayerNorm")},
     .norm = HKT_NORM_CENTRED},
    {.name = "distilbert",
     .types = "distilbert",
     .layers = "n_layers",
     .heads = "n_heads",
     .width = "dim",
     .names = {WITH_BIAS(query, query_bias, "transformer.layer.{layer}.attention.q_lin"),
               WITH_BIAS(key, key_bias, "transformer.layer.{layer}.attention.k_lin"),
               WITH_BIAS(gain, shift, "transformer.layer.{previous}.output_layer_norm"),
               WITH_BIAS(first_gain, first_shift, "embeddings.LayerNorm")},
     .norm = HKT_NORM_CENTRED},
    {.name = "vit",
     .types = "vit deit",
     COMMON_SIZES,
     .names = {WITH_BIAS(query, query_bias, "encoder.layer.{layer}.attention.attention.query"),
               WITH_BIAS(key, key_bias, "encoder.layer.{layer}.attention.attention.key"),
               WITH_BIAS(gain, shift, "encoder.layer.{layer}.layernorm_before")},
     .norm = HKT_NORM_CENTRED},
    {.name = "t5-encoder",
     .types = "t5 mt5",
     T5_SIZES,
     .layers = "num_layers",
     .names = {.query = "encoder.block.{layer}.layer.0.SelfAttention.q.weight",
               .key = "encoder.block.{layer}.layer.0.SelfAttention.k.weight",
               .gain = "encoder.block.{layer}.layer.0.layer_norm.weight"},
     .norm = HKT_NORM_RMS,
     .unscaled = true,
     .unused = "relative positions are added to the scores; decoder: family t5-decoder"},
    {.name = "t5-decoder",
     .types = "",
     T5_SIZES,
     .layers = "num_decoder_layers|num_layers",
     .names = {.query = "decoder.block.{layer}.layer.0.SelfAttention.q.weight",
               .key = "decoder.block.{layer}.layer.0.SelfAttention.k.weight",
               .gain = "decoder.block.{layer}.layer.0.layer_norm.weight"},
     .norm = HKT_NORM_RMS,
     .causal = true,
     .unscaled = true,
     .unused = "relative positions are added to the scores; attention to the encoder"},
    {.name = "whisper-encoder",
     .types = "whisper",
     .layers = "encoder_layers",
     .heads = "encoder_attention_heads",
     .width = "d_model",
     .names = {WITH_BIAS(query, query_bias, "encoder.layers.{layer}.self_attn.q_proj"),
               WITH_BIAS(key, key_bias, "encoder.layers.{layer}.self_attn.k_proj"),
               WITH_BIAS(gain, shift, "encoder.layers.{layer}.self_attn_layer_norm")},
     .norm = HKT_NORM_CENTRED,
     .unused = "decoder: family whisper-decoder"},
    {.name = "whisper-decoder",
     .types = "",
     .layers = "decoder_layers",
     .heads = "decoder_attention_heads",
     .width = "d_model",
     .names = {WITH_BIAS(query, query_bias, "decoder.layers.{layer}.self_attn.q_proj"),
               WITH_BIAS(key, key_bias, "decoder.layers.{layer}.self_attn.k_proj"),
               WITH_BIAS(gain, shift, "decoder.layers.{layer}.self_attn_layer_norm")},
     .norm = HKT_NORM_CENTRED,
     .causal = true,
     .unused = "attention to the encoder"},
    /* The file of llama2.c has a header of seven numbers, which llama2c.c gives these words. */
    {.name = "llama2.c",
     .types = "llama2.c",
     .layers = "n_layers",
     .heads = "n_heads",
     .key_heads = "n_kv_heads",
     .width = "dim",
     .names = {.query = "layers.{layer}.attention.wq.weight",
               .key = "layers.{layer}.attention.wk.weight",
               .gain = "layers.{layer}.attention_norm.weight"},
     .norm = HKT_NORM_RMS,
     .causal = true,
     .rotary = true,
     .rotary_pairs = true,
     .forward = &of_llama2c},
};

const hkt_family *hkt_families(size_t *n)
{
    *n = sizeof families / sizeof *families;
    return families;
}

const hkt_family *hkt_family_find(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}

const hkt_family *hkt_family_of_type(const char *type)
{
    size_t n = strlen(type);
    for (size_t i = 0; n > 0 && i < sizeof families / sizeof *families; i++)
        for (const char *at = families[i].types; (at = strstr(at, type)); at += n)
            if ((at == families[i].types || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
                return &families[i];
    return NULL;
}
