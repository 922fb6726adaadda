#include "base/start.h"

#include <signal.h>
#include <stddef.h>

#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"

static void clean_up(int sig)
{
    hkt_out_remove_all();
    signal(sig, SIG_DFL);
    raise(sig);
}

void hkt_start(void)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now, act = {.sa_handler = clean_up};
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(signals[i], &act, NULL);
    }
    signal(SIGXFSZ, SIG_IGN);
    hkt_json_start();
    hkt_progress_every(10, 30);
}
