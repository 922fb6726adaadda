#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

static hkt_status spawn(char *const *argv, int fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
        error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    return error == 0 ? HKT_OK : hkt_fail(HKT_ESYSTEM, "cannot run '%s': %s", argv[0], strerror(error));
}

static hkt_status wait_for(pid_t pid, const char *name, int *exit_status)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return hkt_fail(HKT_ESYSTEM, "cannot wait for '%s': %s", name, strerror(errno));
    *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return HKT_OK;
}

static hkt_status read_back(FILE *f, char **text)
{
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size < 0)
        return hkt_fail(HKT_ESYSTEM, "cannot read what a program wrote: %s", strerror(errno));
    rewind(f);
    HKT_TRY(HKT_NEW(text, (size_t)size + 1));
    (*text)[fread(*text, 1, (size_t)size, f)] = 0;
    return HKT_OK;
}

hkt_status hkt_process_run(char *const *argv, int *exit_status, char **text)
{
    *text = NULL;
    FILE *f = tmpfile();
    if (!f)
        return hkt_fail(HKT_ESYSTEM, "cannot make a temporary file: %s", strerror(errno));
    pid_t pid;
    hkt_status status = spawn(argv, fileno(f), &pid);
    if (status == HKT_OK)
        status = wait_for(pid, argv[0], exit_status);
    if (status == HKT_OK)
        status = read_back(f, text);
    fclose(f);
    return status;
}
