/*
 * The VI Architecture's provider library, as far as laxity-vi has it. Names, constants and the layout of descriptors are VIPL's; a
 * device name is the path of an adapter's socket, host addresses have four bytes (the adapter's number) and discriminators up to eight.
 *
 * Memory is registered in place: the address has to be that of a page. Its pages become shared with the adapter, with what is in them.
 */
#ifndef VIPL_H
#define VIPL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VipNic *VIP_NIC_HANDLE;
typedef struct VipVi *VIP_VI_HANDLE;
typedef struct VipCq *VIP_CQ_HANDLE;
typedef struct VipConn *VIP_CONN_HANDLE;
typedef uint32_t VIP_MEM_HANDLE;
typedef uint32_t VIP_PROTECTION_HANDLE;
typedef uint32_t VIP_BOOLEAN;
typedef uint32_t VIP_ULONG;
#define VIP_TRUE 1
#define VIP_FALSE 0
#define VIP_INFINITE UINT32_MAX

typedef uint32_t VIP_RETURN;
#define VIP_SUCCESS 0
#define VIP_NOT_DONE 1
#define VIP_INVALID_PARAMETER 2
#define VIP_ERROR_RESOURCE 3
#define VIP_TIMEOUT 4
#define VIP_REJECT 5
#define VIP_INVALID_QOS 8
#define VIP_INVALID_PTAG 9
#define VIP_DESCRIPTOR_ERROR 11
#define VIP_INVALID_STATE 12
#define VIP_ERROR_NAMESERVICE 13
#define VIP_NO_MATCH 14
#define VIP_NOT_REACHABLE 15

typedef struct {
    uint64_t Next;
    VIP_MEM_HANDLE NextHandle;
    uint16_t SegCount;
    uint16_t Control;
    uint32_t Reserved;
    uint32_t ImmediateData;
    uint32_t Length;
    uint32_t Status;
} VIP_CONTROL_SEGMENT;

typedef struct {
    uint64_t Data;
    VIP_MEM_HANDLE Handle;
    uint32_t Reserved;
} VIP_ADDRESS_SEGMENT;

typedef struct {
    uint64_t Data;
    VIP_MEM_HANDLE Handle;
    uint32_t Length;
} VIP_DATA_SEGMENT;

typedef union {
    VIP_ADDRESS_SEGMENT Remote;
    VIP_DATA_SEGMENT Local;
} VIP_DESCRIPTOR_SEGMENT;

/* SegCount counts what of DS is used: of RDMA the first is the remote address. */
typedef struct {
    VIP_CONTROL_SEGMENT CS;
    VIP_DESCRIPTOR_SEGMENT DS[14];
} VIP_DESCRIPTOR;

#define VIP_CONTROL_OP_SENDRECV 0x0
#define VIP_CONTROL_OP_RDMAWRITE 0x1
#define VIP_CONTROL_OP_RDMAREAD 0x2
#define VIP_CONTROL_OP_MASK 0x3
#define VIP_CONTROL_IMMEDIATE 0x4

#define VIP_STATUS_DONE 0x1
#define VIP_STATUS_FORMAT_ERROR 0x2
#define VIP_STATUS_PROTECTION_ERROR 0x4
#define VIP_STATUS_LENGTH_ERROR 0x8
#define VIP_STATUS_DESC_FLUSHED_ERROR 0x20
#define VIP_STATUS_TRANSPORT_ERROR 0x40
#define VIP_STATUS_RDMA_PROT_ERROR 0x80
#define VIP_STATUS_REMOTE_DESC_ERROR 0x100
#define VIP_STATUS_ERROR_MASK 0x1fe
#define VIP_STATUS_OP_SEND 0x00000
#define VIP_STATUS_OP_RECEIVE 0x10000
#define VIP_STATUS_OP_RDMA_WRITE 0x20000
#define VIP_STATUS_OP_REMOTE_RDMA_WRITE 0x30000
#define VIP_STATUS_OP_RDMA_READ 0x40000
#define VIP_STATUS_OP_MASK 0x70000
#define VIP_STATUS_IMMEDIATE 0x80000

typedef struct {
    uint16_t HostAddressLen;   /* 4 */
    uint16_t DiscriminatorLen; /* up to 8 */
    uint8_t HostAddress[12];   /* and the discriminator behind it */
} VIP_NET_ADDRESS;

#define VIP_QOS_NONE 0
#define VIP_QOS_CONSTANT 1
#define VIP_QOS_VARIABLE 2
typedef struct {
    uint32_t Kind;
    uint32_t MessageSize;
    uint64_t BytesPerSecond;
} VIP_QOS;

#define VIP_SERVICE_UNRELIABLE 0x1
#define VIP_SERVICE_RELIABLE_DELIVERY 0x2
typedef struct {
    uint32_t ReliabilityLevel;
    VIP_PROTECTION_HANDLE Ptag;
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
    VIP_QOS QoS;
} VIP_VI_ATTRIBUTES;

typedef struct {
    VIP_PROTECTION_HANDLE Ptag;
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
} VIP_MEM_ATTRIBUTES;

typedef struct {
    char Name[64];
    VIP_ULONG HardwareVersion;
    VIP_ULONG ProviderVersion;
    uint16_t NicAddressLen;
    const uint8_t *LocalNicAddress; /* the adapter's number; valid until VipCloseNic */
    VIP_BOOLEAN ThreadSafe;
    uint16_t MaxDiscriminatorLen;
    VIP_ULONG MaxRegisterBytes;
    VIP_ULONG MaxRegisterRegions;
    VIP_ULONG MaxRegisterBlockBytes;
    VIP_ULONG MaxVI;
    VIP_ULONG MaxDescriptorsPerQueue;
    VIP_ULONG MaxSegmentsPerDesc;
    VIP_ULONG MaxCQ;
    VIP_ULONG MaxCQEntries;
    VIP_ULONG MaxTransferSize;
    VIP_ULONG NativeMTU;
    VIP_ULONG MaxPtags;
    uint16_t ReliabilityLevelSupport;
    uint16_t RDMAReadSupport;
} VIP_NIC_ATTRIBUTES;

typedef enum { VIP_STATE_IDLE, VIP_STATE_CONNECTED, VIP_STATE_CONNECT_PENDING, VIP_STATE_ERROR } VIP_VI_STATE;

VIP_RETURN VipOpenNic(const char *DeviceName, VIP_NIC_HANDLE *NicHandle);
VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle);
/* VIP_SMI_AUTODISCOVERY: the adapters that there are within NumberOfHops, of which one leads to every other.
 * ADAddrArray has room for NumAdAddrs of them; NumAdAddrs is then how many there are. */
#define VIP_SMI_AUTODISCOVERY ((VIP_ULONG) 1)
typedef struct {
    VIP_ULONG NumberOfHops;
    VIP_NET_ADDRESS *ADAddrArray;
    VIP_ULONG NumAdAddrs;
} VIP_AUTODISCOVERY_LIST;
VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE NicHandle, VIP_ULONG InfoType, void *SysManInfo);
VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *NicAttribs);
VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag);
VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag);
VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, void *VirtualAddress, VIP_ULONG Length,
                          const VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemHandle);
VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, void *VirtualAddress, VIP_MEM_HANDLE MemHandle);
VIP_RETURN VipQueryMem(VIP_NIC_HANDLE NicHandle, void *VirtualAddress, VIP_MEM_HANDLE MemHandle,
                       VIP_MEM_ATTRIBUTES *MemAttribs);
VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE NicHandle, void *VirtualAddress, VIP_MEM_HANDLE MemHandle,
                               const VIP_MEM_ATTRIBUTES *MemAttribs);
VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle);
VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle);
VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE CQHandle, VIP_ULONG EntryCount);
VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue);
VIP_RETURN VipCQWait(VIP_CQ_HANDLE CQHandle, VIP_ULONG TimeOut, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue);
VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, const VIP_VI_ATTRIBUTES *ViAttribs, VIP_CQ_HANDLE SendCQHandle,
                       VIP_CQ_HANDLE RecvCQHandle, VIP_VI_HANDLE *ViHandle);
VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle);
VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttribs,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty);
/* While it is idle. */
VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE ViHandle, const VIP_VI_ATTRIBUTES *ViAttribs);
VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, const VIP_NET_ADDRESS *LocalAddr, VIP_ULONG TimeOut,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttribs, VIP_CONN_HANDLE *ConnHandle);
VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle);
VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle);
VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, const VIP_NET_ADDRESS *LocalAddr,
                             const VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG TimeOut, VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE ViHandle, const VIP_NET_ADDRESS *LocalAddr,
                                 const VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG TimeOut);
VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle);
VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemHandle);
VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemHandle);
VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipSendWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipRecvWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr);

/* What is told later is told on threads of the library: a handler that is asked for once is called once. */
VIP_RETURN VipSendNotify(VIP_VI_HANDLE ViHandle, void *Context,
                         void (*Handler)(void *Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                         VIP_DESCRIPTOR *DescriptorPtr));
VIP_RETURN VipRecvNotify(VIP_VI_HANDLE ViHandle, void *Context,
                         void (*Handler)(void *Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                         VIP_DESCRIPTOR *DescriptorPtr));
VIP_RETURN VipCQNotify(VIP_CQ_HANDLE CQHandle, void *Context,
                       void (*Handler)(void *Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                       VIP_BOOLEAN RecvQueue));

typedef uint32_t VIP_RESOURCE_CODE;
#define VIP_RESOURCE_NIC 0
#define VIP_RESOURCE_VI 1
#define VIP_RESOURCE_CQ 2
#define VIP_RESOURCE_DESCRIPTOR 3
typedef uint32_t VIP_ERROR_CODE;
#define VIP_ERROR_POST_DESC 0
#define VIP_ERROR_CONN_LOST 1
#define VIP_ERROR_RECVQ_EMPTY 2
#define VIP_ERROR_VI_OVERRUN 3
#define VIP_ERROR_RDMAW_PROT 4
#define VIP_ERROR_RDMAR_PROT 7
#define VIP_ERROR_CATASTROPHIC 10
typedef struct {
    VIP_NIC_HANDLE NicHandle;
    VIP_VI_HANDLE ViHandle; /* null if it is none's */
    VIP_CQ_HANDLE CQHandle;
    VIP_DESCRIPTOR *DescriptorPtr;
    VIP_ULONG OpCode;
    VIP_RESOURCE_CODE ResourceCode;
    VIP_ERROR_CODE ErrorCode;
} VIP_ERROR_DESCRIPTOR;
/* Null for none. */
VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, void *Context,
                            void (*Handler)(void *Context, const VIP_ERROR_DESCRIPTOR *ErrorDesc));

/* NSInitInfo: the path of a file with a line "NUMBER NAME ..." for each adapter, or null if adapters are called by their numbers. */
VIP_RETURN VipNSInit(VIP_NIC_HANDLE NicHandle, void *NSInitInfo);
VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE NicHandle, const char *Name, VIP_NET_ADDRESS *Address, VIP_ULONG NameIndex);
VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE NicHandle, const VIP_NET_ADDRESS *Address, char *Name, VIP_ULONG *NameLen);
VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE NicHandle);

#ifdef __cplusplus
}
#endif

#endif
