/* What a program in C is told later: descriptors that are done, errors of no call, and the names of adapters. Compiled and run by a test. */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vipl.h"

_Static_assert(sizeof(VIP_ERROR_DESCRIPTOR) == 48, "an error is as in notify.rs");

/* What handlers were told. */
struct told {
    _Atomic(VIP_DESCRIPTOR *) descriptor;
    _Atomic(VIP_VI_HANDLE) vi;
    atomic_int receives, times, error, resource;
};

static void of_descriptor(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor) {
    struct told *told = context;
    told->descriptor = nic && vi ? descriptor : NULL;
    told->times++;
}

static void of_entry(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN receives) {
    struct told *told = context;
    told->vi = nic ? vi : NULL;
    told->receives = receives;
    told->times++;
}

static void of_error(void *context, const VIP_ERROR_DESCRIPTOR *error) {
    struct told *told = context;
    told->vi = error->ViHandle;
    told->error = (int)error->ErrorCode;
    told->resource = (int)error->ResourceCode;
    told->times++;
}

/* Waits until a handler has been called so often, for a minute at most. */
static int called(struct told *told, int times) {
    for (int i = 0; i < 60000 && told->times < times; i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return told->times == times;
}

/* Half a program: it calls, and is told what comes of that, or answers. Says when it is to be left alone by the adapters. */
int main(int count, char **arguments) {
    int calls = count > 3;
    VIP_NIC_HANDLE nic;
    if (count < 3 || VipOpenNic(arguments[1], &nic) != VIP_SUCCESS) return 1;
    VIP_NET_ADDRESS address = {0};
    if (VipNSGetHostByName(nic, "beta", &address, 0) != VIP_INVALID_STATE) return 2;
    if (VipNSInit(nic, "/nowhere/at/all") != VIP_ERROR_NAMESERVICE || VipNSInit(nic, arguments[2]) != VIP_SUCCESS) return 3;
    if (VipNSGetHostByName(nic, "gamma", &address, 0) != VIP_ERROR_NAMESERVICE) return 4;
    if (VipNSGetHostByName(nic, "beta", &address, 0) != VIP_SUCCESS || address.HostAddress[0] != 1) return 5;
    char name[8];
    VIP_ULONG length = 2;
    if (VipNSGetHostByAddr(nic, &address, name, &length) != VIP_ERROR_RESOURCE || length != 5) return 6;
    length = sizeof name;
    if (VipNSGetHostByAddr(nic, &address, name, &length) != VIP_SUCCESS || strcmp(name, "beta") != 0) return 7;
    if (VipNSShutdown(nic) != VIP_SUCCESS || VipNSShutdown(nic) != VIP_INVALID_STATE) return 8;
    address.DiscriminatorLen = 1;
    address.HostAddress[4] = 5;

    struct told errors = {0}, entry = {0}, sent = {0}, received = {0}, more = {0};
    if (VipErrorCallback(nic, &errors, of_error) != VIP_SUCCESS) return 9;
    VIP_MEM_ATTRIBUTES access = {0};
    if (VipCreatePtag(nic, &access.Ptag) != VIP_SUCCESS) return 10;
    char *memory = aligned_alloc(4096, 4096);
    memset(memory, 7, 4096);
    VIP_MEM_HANDLE handle;
    if (VipRegisterMem(nic, memory, 4096, &access, &handle) != VIP_SUCCESS) return 11;
    VIP_VI_ATTRIBUTES wanted = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY, .Ptag = access.Ptag};
    VIP_CQ_HANDLE queue;
    VIP_VI_HANDLE vi;
    if (VipCreateCQ(nic, 16, &queue) != VIP_SUCCESS || VipCreateVi(nic, &wanted, NULL, queue, &vi) != VIP_SUCCESS) return 12;
    VIP_DESCRIPTOR receive = {.CS = {.SegCount = 1}}, send = receive;
    receive.DS[0].Local = (VIP_DATA_SEGMENT){(uint64_t)(uintptr_t)(memory + 1024), handle, 64};
    send.DS[0].Local = (VIP_DATA_SEGMENT){(uint64_t)(uintptr_t)memory, handle, 4};
    /* It is told of what is not there yet. */
    if (VipRecvNotify(vi, &received, of_descriptor) || VipSendNotify(vi, &sent, of_descriptor)) return 13;
    if (VipCQNotify(queue, &entry, of_entry) || VipSendNotify(vi, NULL, NULL) != VIP_INVALID_PARAMETER) return 14;
    if (VipPostRecv(vi, &receive, handle) != VIP_SUCCESS) return 15;
    if (calls) {
        if (VipConnectRequest(vi, NULL, &address, 60000, NULL) != VIP_SUCCESS) return 16;
    } else {
        VIP_CONN_HANDLE call;
        if (VipConnectWait(nic, &address, 60000, NULL, NULL, &call) != VIP_SUCCESS) return 17;
        if (VipConnectAccept(call, vi) != VIP_SUCCESS) return 18;
    }
    if (VipPostSend(vi, &send, handle) != VIP_SUCCESS) return 19;
    if (!called(&sent, 1) || sent.descriptor != &send || send.CS.Status != VIP_STATUS_DONE) return 20;
    if (!called(&received, 1) || received.descriptor != &receive || receive.CS.Length != 4) return 21;
    if (!called(&entry, 1) || entry.vi != vi || !entry.receives) return 22;
    if (calls && errors.times != 0) return 23;
    /* The caller sends once more, to where there is no room: a reliable connection breaks, and each side is told why. */
    if (calls && VipPostSend(vi, &send, handle) != VIP_SUCCESS) return 24;
    if (!called(&errors, 1) || errors.vi != vi || errors.resource != VIP_RESOURCE_VI) return 25;
    if (errors.error != (calls ? VIP_ERROR_CONN_LOST : VIP_ERROR_RECVQ_EMPTY)) return 26;
    if (VipRecvNotify(vi, &more, of_descriptor) || VipDisconnect(vi) || VipPostRecv(vi, &receive, handle)) return 27;
    puts("left alone");
    fflush(stdout);
    /* And when the adapters are gone, so is what is posted. */
    if (!called(&errors, 2) || errors.vi != NULL || errors.error != VIP_ERROR_CATASTROPHIC) return 28;
    if (!called(&more, 1) || !(receive.CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR)) return 29;
    if (VipErrorCallback(nic, NULL, NULL) || VipDestroyVi(vi) || VipDestroyCQ(queue) || VipCloseNic(nic)) return 30;
    free(memory);
    return 0;
}
