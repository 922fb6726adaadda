#include "base/start.h"

#include <signal.h>

#include "base/json.h"

void hkt_start(void)
{
    signal(SIGXFSZ, SIG_IGN);
    hkt_json_start();
}
