/* Guaranteed channels between programs, over a local `laxity serve`. Link with -llaxity_rtc.
 *
 * A call that fails returns NULL or a negative number, and rtc_error() has the reason. A handle is
 * used by one thread at a time. Handles belong to the process that made them: in a child of fork()
 * each call fails, and the child connects by itself. */
#ifndef LAXITY_H
#define LAXITY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RTC_FAILED (-1) /* see rtc_error() */
#define RTC_EXCESS (-2) /* the message is beyond the contract */
#define RTC_LOST (-3)   /* the channel or the node is gone */
#define RTC_NONE (-4)   /* no message arrived in time */

typedef struct RtcNode RtcNode;
typedef struct RtcQueue RtcQueue;
typedef struct RtcChannel RtcChannel;

typedef struct RtcContract {
    unsigned int max_message; /* bytes */
    unsigned int interval_us; /* least average spacing of messages */
    unsigned int burst;       /* messages */
    unsigned int deadline_us; /* from end to end */
} RtcContract;

/* The reason of the last failed call of this thread. */
const char *rtc_error(void);

/* Connects to the node at a socket, or to the local one with NULL. */
RtcNode *rtc_connect(const char *socket);
void rtc_disconnect(RtcNode *node);

/* Receiver: makes a queue and registers its name; takes messages; ends it. A timeout of -1 waits for
 * ever; RTC_NONE is returned if no message arrived, and 0 for an empty message. */
RtcQueue *rtc_init(RtcNode *node, const char *name);
long rtc_recv(RtcQueue *queue, uint8_t *buffer, size_t size, int timeout_ms);
void rtc_end(RtcQueue *queue);

/* Sender, whose message may be NULL if its length is 0: creates a channel; sends, and returns when the node has transmitted the message; closes. */
RtcChannel *rtc_create(RtcNode *node, const char *name, const RtcContract *contract);
int rtc_send(RtcChannel *channel, const uint8_t *message, size_t length);
int rtc_try_send(RtcChannel *channel, const uint8_t *message, size_t length);
int rtc_close(RtcChannel *channel);

/* Best effort: a message of one packet. */
int rdata_send(RtcNode *node, const char *name, const uint8_t *message, size_t length);

#ifdef __cplusplus
}
#endif

#endif
