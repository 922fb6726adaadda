#include "base/start.h"

#include <signal.h>

void hkt_start(void)
{
    signal(SIGXFSZ, SIG_IGN);
}
