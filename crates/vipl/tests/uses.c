/* What a program in C does with a virtual interface that has a bandwidth. Compiled by a test, which looks at the header by it. */
#include <stdlib.h>
#include <string.h>

#include "vipl.h"

_Static_assert(sizeof(VIP_CONTROL_SEGMENT) == 32, "a control segment has 32 bytes");
_Static_assert(sizeof(VIP_DATA_SEGMENT) == 16 && sizeof(VIP_ADDRESS_SEGMENT) == 16, "a segment has 16 bytes");
_Static_assert(sizeof(VIP_DESCRIPTOR) == 32 + 14 * 16, "a descriptor has 14 segments");
_Static_assert(sizeof(VIP_NET_ADDRESS) == 16 && sizeof(VIP_QOS) == 16, "addresses and bandwidths have 16 bytes");
_Static_assert(sizeof(VIP_VI_ATTRIBUTES) == 32 && sizeof(VIP_MEM_ATTRIBUTES) == 12, "attributes are as in types.rs");

/* Half a program: it calls, and sends four bytes, or answers with what has come. Zero if all went well. */
int main(int count, char **arguments) {
    int calls = count > 2;
    VIP_NIC_HANDLE nic;
    if (count < 2 || VipOpenNic(arguments[1], &nic) != VIP_SUCCESS) return 1;
    VIP_MEM_ATTRIBUTES access = {0};
    if (VipCreatePtag(nic, &access.Ptag) != VIP_SUCCESS) return 2;
    char *memory = aligned_alloc(4096, 4096);
    strcpy(memory, "ABC");
    VIP_MEM_HANDLE handle;
    if (VipRegisterMem(nic, memory, 4096, &access, &handle) != VIP_SUCCESS) return 3;
    if (strcmp(memory, "ABC") != 0 || VipRegisterMem(nic, memory + 1, 9, &access, &handle) == VIP_SUCCESS) return 4;
    VIP_VI_ATTRIBUTES wanted = {.ReliabilityLevel = VIP_SERVICE_UNRELIABLE, .Ptag = access.Ptag};
    wanted.QoS = (VIP_QOS){.Kind = VIP_QOS_CONSTANT, .MessageSize = 4096, .BytesPerSecond = 1000000};
    VIP_CQ_HANDLE queue;
    VIP_VI_HANDLE vi, whose;
    if (VipCreateCQ(nic, 16, &queue) != VIP_SUCCESS) return 5;
    if (VipCreateVi(nic, &wanted, NULL, queue, &vi) != VIP_SUCCESS) return 6;
    VIP_DESCRIPTOR receive = {.CS = {.SegCount = 1}}, send = receive, *done;
    receive.DS[0].Local = (VIP_DATA_SEGMENT){(uint64_t)(uintptr_t)(memory + 1024), handle, 64};
    send.DS[0].Local = (VIP_DATA_SEGMENT){(uint64_t)(uintptr_t)memory, handle, 4};
    send.CS.Control = VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_IMMEDIATE;
    send.CS.ImmediateData = 42;
    if (VipPostRecv(vi, &receive, handle) != VIP_SUCCESS) return 7;
    VIP_NET_ADDRESS address = {.HostAddressLen = 4, .DiscriminatorLen = 1, .HostAddress = {1, 0, 0, 0, 5}}, from;
    if (calls) {
        if (VipConnectRequest(vi, NULL, &address, 60000, NULL) != VIP_SUCCESS) return 8;
        if (VipPostSend(vi, &send, handle) != VIP_SUCCESS) return 9;
    } else {
        VIP_CONN_HANDLE call;
        if (VipConnectWait(nic, &address, 60000, &from, &wanted, &call) != VIP_SUCCESS) return 10;
        if (wanted.QoS.BytesPerSecond != 1000000 || VipConnectAccept(call, vi) != VIP_SUCCESS) return 11;
    }
    VIP_BOOLEAN received;
    if (VipCQWait(queue, 60000, &whose, &received) != VIP_SUCCESS || whose != vi || !received) return 12;
    if (VipRecvDone(vi, &done) != VIP_SUCCESS || done != &receive) return 13;
    if (done->CS.Length != 4 || done->CS.ImmediateData != 42 || strcmp(memory + 1024, "ABC") != 0) return 14;
    if (!calls && VipPostSend(vi, &send, handle) != VIP_SUCCESS) return 15;
    if (VipSendWait(vi, 60000, &done) != VIP_SUCCESS || done != &send || done->CS.Status != VIP_STATUS_DONE) return 16;
    if (VipDestroyVi(vi) || VipDestroyCQ(queue) || VipDeregisterMem(nic, memory, handle) || VipCloseNic(nic)) return 17;
    free(memory);
    return 0;
}
