/* Body of apply.h for one precision; see num/both.h. */

/* Computes in this precision from the weights of the checkpoint. batch: with labels. loss [out]: mean cross entropy.
 * logits_path: receives the logits [B, C] as .npy, or NULL. grads_path: receives `loss` (a scalar) and `grad.NAME` of
 * every parameter as safetensors, or NULL. Files have this precision. Errors: HKT_ENUMERIC, HKT_ESYSTEM. */
hkt_status RN(hkt_apply)(const hkt_checkpoint *model, const hkt_batch *batch, const char *logits_path,
                         const char *grads_path, double *loss);
