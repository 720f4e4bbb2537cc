package peer

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// The messages of sock_diag, from linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h. Headers use the machine's
// byte order, ports and addresses the network's.
const (
	headerBytes  = 16 // struct nlmsghdr
	requestBytes = 56 // struct inet_diag_req_v2
	socketBytes  = 72 // struct inet_diag_msg
	errorBytes   = 4  // of struct nlmsgerr, only the number

	byFamily    = 20 // SOCK_DIAG_BY_FAMILY
	errorType   = 2  // NLMSG_ERROR
	flagRequest = 1  // NLM_F_REQUEST
	protocolTCP = 6
	familyIPv4  = 2
	familyIPv6  = 10
	established = 1
	allStates   = 0xffffffff
	noCookie    = 0xffffffff

	// Positions of the fields of inet_diag_msg.
	atState, atID, atUID, atInode = 1, 4, 64, 68
)

var (
	errMalformed = errors.New("peer: the kernel's answer cannot be read")
	errRefused   = errors.New("peer: the kernel refuses to tell")
	errNoSocket  = errors.New("peer: socket not found")
)

// noEntry is ENOENT, by which the kernel reports that there is no such socket.
const noEntry = 2

// socket is the kernel's description of a socket.
type socket struct {
	pair
	state byte
	uid   uint32
	inode uint32
}

// request asks for the one socket with these addresses.
func request(p pair, sequence uint32) []byte {
	out := make([]byte, headerBytes+requestBytes)
	binary.NativeEndian.PutUint32(out, uint32(len(out))) //nolint:gosec // 72
	binary.NativeEndian.PutUint16(out[4:], byFamily)
	binary.NativeEndian.PutUint16(out[6:], flagRequest)
	binary.NativeEndian.PutUint32(out[8:], sequence)
	body := out[headerBytes:]
	body[0], body[1] = familyIPv4, protocolTCP
	if p.local.Addr().Is6() {
		body[0] = familyIPv6
	}
	binary.NativeEndian.PutUint32(body[4:], allStates)
	id := body[8:]
	binary.BigEndian.PutUint16(id, p.local.Port())
	binary.BigEndian.PutUint16(id[2:], p.remote.Port())
	copy(id[4:20], p.local.Addr().AsSlice())
	copy(id[20:36], p.remote.Addr().AsSlice())
	binary.NativeEndian.PutUint32(id[40:], noCookie)
	binary.NativeEndian.PutUint32(id[44:], noCookie)
	return out
}

// answered reads the kernel's answer to the request with that sequence.
func answered(raw []byte, sequence uint32) (socket, error) {
	if len(raw) < headerBytes {
		return socket{}, errMalformed
	}
	size := binary.NativeEndian.Uint32(raw)
	if size < headerBytes || uint64(size) > uint64(len(raw)) || binary.NativeEndian.Uint32(raw[8:]) != sequence {
		return socket{}, errMalformed
	}
	body := raw[headerBytes:size]
	switch binary.NativeEndian.Uint16(raw[4:]) {
	case errorType:
		if len(body) < errorBytes {
			return socket{}, errMalformed
		}
		if int32(binary.NativeEndian.Uint32(body)) == -noEntry { //nolint:gosec // it is one
			return socket{}, errNoSocket
		}
		return socket{}, errRefused
	case byFamily:
		return described(body)
	}
	return socket{}, errMalformed
}

// described reads struct inet_diag_msg.
func described(body []byte) (socket, error) {
	if len(body) < socketBytes {
		return socket{}, errMalformed
	}
	id := body[atID:]
	var local, remote netip.Addr
	switch body[0] {
	case familyIPv4:
		local, remote = netip.AddrFrom4([4]byte(id[4:8])), netip.AddrFrom4([4]byte(id[20:24]))
	case familyIPv6: // also a socket that speaks IPv4 to us
		local, remote = netip.AddrFrom16([16]byte(id[4:20])).Unmap(), netip.AddrFrom16([16]byte(id[20:36])).Unmap()
	default:
		return socket{}, errMalformed
	}
	return socket{
		pair: pair{
			local:  netip.AddrPortFrom(local, binary.BigEndian.Uint16(id)),
			remote: netip.AddrPortFrom(remote, binary.BigEndian.Uint16(id[2:])),
		},
		state: body[atState],
		uid:   binary.NativeEndian.Uint32(body[atUID:]),
		inode: binary.NativeEndian.Uint32(body[atInode:]),
	}, nil
}

// owner returns the user of a live socket that is exactly the requested one. A closed socket has no inode and reports
// user 0: its owner is unknown. If no connection is found, the kernel may answer with a listener.
func (s *socket) owner(asked pair) (uint32, error) {
	if s.pair != asked || s.state != established || s.inode == 0 {
		return 0, ErrNobody
	}
	return s.uid, nil
}
