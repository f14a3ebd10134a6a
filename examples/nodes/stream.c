/* A message of 1 kB each 10 ms with a deadline of 50 ms, beside examples/nodes/two-nodes.sh:
 *
 *   cargo build --release -p laxity-rtc
 *   cc examples/nodes/stream.c -Icrates/rtc/include -Ltarget/release -llaxity_rtc -o stream
 *   LAXITY_SOCKET=... ./stream recv film 100     LAXITY_SOCKET=... ./stream send film 100
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "laxity.h"

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, rtc_error());
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s send|recv NAME COUNT\n", argv[0]);
        return 2;
    }
    int count = atoi(argv[3]);
    uint8_t message[1000] = {0};
    RtcNode *node = rtc_connect(NULL);
    if (!node) return fail("connect");
    if (strcmp(argv[1], "recv") == 0) {
        RtcQueue *queue = rtc_init(node, argv[2]);
        if (!queue) return fail("listen");
        for (int number = 0; number < count; number++) {
            long length = rtc_recv(queue, message, sizeof message, 20000);
            if (length <= 0) return fail("receive");
            if (message[0] != (uint8_t)number) return fprintf(stderr, "out of order\n"), 1;
        }
        printf("%d messages\n", count);
        rtc_end(queue);
    } else {
        RtcContract contract = {sizeof message, 10000, 1, 50000};
        RtcChannel *channel = rtc_create(node, argv[2], &contract);
        if (!channel) return fail("create");
        for (int number = 0; number < count; number++) {
            message[0] = (uint8_t)number;
            if (rtc_send(channel, message, sizeof message) != 0) return fail("send");
        }
        if (rtc_close(channel) != 0) return fail("close");
    }
    rtc_disconnect(node);
    return 0;
}
