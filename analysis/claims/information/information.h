/* information.h - inside the claim `information`: what its files and tests share. */
#ifndef HKT_ANALYSIS_CLAIMS_INFORMATION_INFORMATION_H
#define HKT_ANALYSIS_CLAIMS_INFORMATION_INFORMATION_H

#include "analysis/claims/check.h"

#endif
