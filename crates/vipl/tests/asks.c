/* What a program in C can ask of its handles and change, and two that connect as peers. Compiled and run by a test. */
#include <stdlib.h>
#include <string.h>

#include "vipl.h"

_Static_assert(sizeof(VIP_NIC_ATTRIBUTES) == 144, "attributes are as in types.rs");
_Static_assert(sizeof(VIP_AUTODISCOVERY_LIST) == 24, "the list is as in types.rs");

/* One of two peers: node 0 with an argument more, node 1 without. Zero if all went well. */
int main(int count, char **arguments) {
    int first = count > 2;
    VIP_NIC_HANDLE nic;
    if (count < 2 || VipOpenNic(arguments[1], &nic) != VIP_SUCCESS) return 1;
    VIP_NIC_ATTRIBUTES has;
    if (VipQueryNic(nic, &has) != VIP_SUCCESS || has.NicAddressLen != 4 || has.MaxVI == 0) return 2;
    if (has.LocalNicAddress[0] != (first ? 0 : 1) || strcmp(has.Name, "laxity") != 0) return 3;

    /* Of two adapters the other is a hop away; there has to be room for it, and of nothing else is there information. */
    VIP_NET_ADDRESS around[2];
    VIP_AUTODISCOVERY_LIST list = {.NumberOfHops = 1, .ADAddrArray = around, .NumAdAddrs = 0};
    if (VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &list) != VIP_ERROR_RESOURCE) return 61;
    if (list.NumAdAddrs != 1) return 62;
    list.NumAdAddrs = 2;
    if (VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &list) != VIP_SUCCESS || list.NumAdAddrs != 1) return 63;
    if (around[0].HostAddressLen != 4 || around[0].DiscriminatorLen != 0 || around[0].HostAddress[0] != (first ? 1 : 0)) return 64;
    list.NumberOfHops = 0;
    if (VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &list) != VIP_SUCCESS || list.NumAdAddrs != 0) return 65;
    if (VipQuerySystemManagementInfo(nic, 2, &list) != VIP_INVALID_PARAMETER) return 66;
    if (VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, NULL) != VIP_INVALID_PARAMETER) return 67;

    VIP_MEM_ATTRIBUTES access = {0}, found = {9, 9, 9}, other = {.EnableRdmaWrite = VIP_TRUE};
    if (VipCreatePtag(nic, &access.Ptag) != VIP_SUCCESS || VipCreatePtag(nic, &other.Ptag) != VIP_SUCCESS) return 4;
    char *memory = aligned_alloc(4096, 4096);
    strcpy(memory, "ABC");
    VIP_MEM_HANDLE handle;
    if (VipRegisterMem(nic, memory, 4096, &access, &handle) != VIP_SUCCESS) return 5;
    if (VipQueryMem(nic, memory, handle, &found) != VIP_SUCCESS) return 6;
    if (found.Ptag != access.Ptag || found.EnableRdmaWrite != 0) return 7;
    if (VipQueryMem(nic, memory + 1, handle, &found) != VIP_INVALID_PARAMETER) return 8;

    VIP_VI_ATTRIBUTES wanted = {.ReliabilityLevel = VIP_SERVICE_UNRELIABLE, .Ptag = access.Ptag}, is;
    VIP_CQ_HANDLE queue;
    VIP_VI_HANDLE vi, whose;
    if (VipCreateCQ(nic, 2, &queue) != VIP_SUCCESS) return 9;
    if (VipCreateVi(nic, &wanted, NULL, queue, &vi) != VIP_SUCCESS) return 10;
    VIP_VI_STATE state;
    VIP_BOOLEAN sends, receives;
    if (VipQueryVi(vi, &state, &is, &sends, &receives) != VIP_SUCCESS) return 11;
    if (state != VIP_STATE_IDLE || is.Ptag != access.Ptag || !sends || !receives) return 12;

    /* With the other tag, and a bandwidth; memory with the first is then not its own. */
    wanted.Ptag = other.Ptag;
    wanted.QoS = (VIP_QOS){.Kind = VIP_QOS_CONSTANT, .MessageSize = 4096, .BytesPerSecond = 1000000};
    if (VipSetViAttributes(vi, &wanted) != VIP_SUCCESS) return 13;
    if (VipQueryVi(vi, NULL, &is, NULL, NULL) != VIP_SUCCESS || is.QoS.BytesPerSecond != 1000000) return 14;
    wanted.Ptag = 60;
    if (VipSetViAttributes(vi, &wanted) != VIP_INVALID_PTAG) return 15;
    if (VipSetMemAttributes(nic, memory, handle, &other) != VIP_SUCCESS) return 16;
    if (VipQueryMem(nic, memory, handle, &found) != VIP_SUCCESS || found.Ptag != other.Ptag) return 17;

    VIP_DESCRIPTOR receive[4], send = {.CS = {.SegCount = 1}}, *done;
    for (int i = 0; i < 4; i++) {
        receive[i] = send;
        receive[i].DS[0].Local = (VIP_DATA_SEGMENT){(uint64_t)(uintptr_t)(memory + 1024 + 64 * i), handle, 64};
        if (VipPostRecv(vi, &receive[i], handle) != VIP_SUCCESS) return 18;
    }
    send.DS[0].Local = (VIP_DATA_SEGMENT){(uint64_t)(uintptr_t)memory, handle, 4};
    if (VipQueryVi(vi, &state, NULL, &sends, &receives) != VIP_SUCCESS || !sends || receives) return 19;

    /* Nobody is at 9, and somebody at 7, who asks for this side's 5. */
    VIP_NET_ADDRESS here = {.HostAddressLen = 4, .DiscriminatorLen = 1, .HostAddress = {0, 0, 0, 0, 5}};
    VIP_NET_ADDRESS there = {.HostAddressLen = 4, .DiscriminatorLen = 1, .HostAddress = {1, 0, 0, 0, 7}};
    VIP_NET_ADDRESS nobody = {.HostAddressLen = 4, .DiscriminatorLen = 1, .HostAddress = {1, 0, 0, 0, 9}};
    if (VipConnectPeerDone(vi, NULL) != VIP_INVALID_STATE) return 20;
    if (first) {
        if (VipConnectPeerRequest(vi, &here, &nobody, 20) != VIP_SUCCESS) return 21;
        if (VipConnectPeerDone(vi, NULL) != VIP_NOT_DONE || VipSetViAttributes(vi, &is) != VIP_INVALID_STATE) return 22;
        if (VipConnectPeerWait(vi, NULL) != VIP_TIMEOUT) return 23;
        for (int i = 0; i < 4; i++) {
            if (VipRecvWait(vi, 60000, &done) != VIP_DESCRIPTOR_ERROR || VipPostRecv(vi, done, handle) != VIP_SUCCESS) return 24;
        }
    }
    /* A queue of two entries has room for 16 now; of four flushed descriptors it has kept two. */
    if (VipResizeCQ(queue, 16) != VIP_SUCCESS) return 25;
    int kept = 0;
    while (VipCQDone(queue, &whose, &receives) == VIP_SUCCESS) kept++;
    if (kept != (first ? 2 : 0)) return 30;
    VIP_NET_ADDRESS *own = first ? &here : &there, *peers = first ? &there : &here;
    if (VipConnectPeerRequest(vi, own, peers, 60000) != VIP_SUCCESS) return 26;
    memset(&is, 0, sizeof is);
    if (VipConnectPeerWait(vi, &is) != VIP_SUCCESS || is.QoS.BytesPerSecond != 1000000) return 27;
    if (VipQueryVi(vi, &state, NULL, NULL, NULL) != VIP_SUCCESS || state != VIP_STATE_CONNECTED) return 28;
    if (VipConnectPeerDone(vi, NULL) != VIP_INVALID_STATE) return 29;

    for (int i = 0; i < 4; i++) {
        if (VipPostSend(vi, &send, handle) != VIP_SUCCESS) return 31;
        if (VipSendWait(vi, 60000, &done) != VIP_SUCCESS) return 32;
    }
    if (VipCQWait(queue, 60000, &whose, &receives) != VIP_SUCCESS || whose != vi || !receives) return 33;
    if (VipRecvDone(vi, &done) != VIP_SUCCESS || done != &receive[0] || strcmp(memory + 1024, "ABC") != 0) return 34;
    for (int i = 1; i < 4; i++) {
        if (VipRecvWait(vi, 60000, &done) != VIP_SUCCESS || done != &receive[i]) return 35;
    }
    /* What is in the queue stays in it, and has to have room. */
    if (VipResizeCQ(queue, 1) != VIP_ERROR_RESOURCE || VipResizeCQ(queue, 4) != VIP_SUCCESS) return 36;
    for (int i = 1; i < 4; i++) {
        if (VipCQDone(queue, &whose, &receives) != VIP_SUCCESS || whose != vi) return 37;
    }
    if (VipCQDone(queue, &whose, &receives) != VIP_NOT_DONE) return 38;
    if (VipDestroyVi(vi) || VipDestroyCQ(queue) || VipDeregisterMem(nic, memory, handle)) return 39;
    if (VipQueryMem(nic, memory, handle, &found) != VIP_INVALID_PARAMETER || VipCloseNic(nic)) return 40;
    free(memory);
    return 0;
}
