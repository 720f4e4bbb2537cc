package peer

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
)

// answerOf returns the kernel's answer about a socket.
func answerOf(s socket, sequence uint32) []byte {
	out := make([]byte, headerBytes+socketBytes)
	binary.NativeEndian.PutUint32(out, uint32(len(out)))
	binary.NativeEndian.PutUint16(out[4:], byFamily)
	binary.NativeEndian.PutUint32(out[8:], sequence)
	body := out[headerBytes:]
	body[0], body[atState] = familyIPv4, s.state
	if s.local.Addr().Is6() {
		body[0] = familyIPv6
	}
	id := body[atID:]
	binary.BigEndian.PutUint16(id, s.local.Port())
	binary.BigEndian.PutUint16(id[2:], s.remote.Port())
	copy(id[4:20], s.local.Addr().AsSlice())
	copy(id[20:36], s.remote.Addr().AsSlice())
	binary.NativeEndian.PutUint32(body[atUID:], s.uid)
	binary.NativeEndian.PutUint32(body[atInode:], s.inode)
	return out
}

func TestOnlyTheLiveSocketAskedForHasAnOwner(t *testing.T) {
	t.Parallel()
	p := pair{netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:7878")}
	live := socket{pair: p, state: established, uid: 1000, inode: 77}
	change := func(how func(*socket)) socket {
		s := live
		how(&s)
		return s
	}
	for name, s := range map[string]socket{
		"no inode":       change(func(s *socket) { s.uid, s.inode = 0, 0 }),
		"time wait":      change(func(s *socket) { s.state = 6 }),
		"hung up":        change(func(s *socket) { s.state = 5 }),
		"a listener":     change(func(s *socket) { s.state, s.remote = 10, netip.MustParseAddrPort("0.0.0.0:0") }),
		"another client": change(func(s *socket) { s.local = netip.MustParseAddrPort("127.0.0.1:40001") }),
		"another server": change(func(s *socket) { s.remote = netip.MustParseAddrPort("127.0.0.1:7879") }),
	} {
		read, err := answered(answerOf(s, 3), 3)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if uid, err := read.owner(p); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: user %d, %v", name, uid, err)
		}
	}
	mapped := change(func(s *socket) {
		s.local = netip.MustParseAddrPort("[::ffff:127.0.0.1]:40000")
		s.remote = netip.MustParseAddrPort("[::ffff:127.0.0.1]:7878")
	})
	for name, s := range map[string]socket{"IPv4": live, "IPv6 that speaks IPv4": mapped} {
		read, err := answered(answerOf(s, 3), 3)
		if err != nil {
			t.Fatal(err)
		}
		if uid, err := read.owner(p); err != nil || uid != 1000 {
			t.Errorf("%s: user %d, %v", name, uid, err)
		}
	}
	if _, err := answered(answerOf(live, 3), 4); !errors.Is(err, errMalformed) {
		t.Errorf("an answer to another question: %v", err)
	}
}

// FuzzAnswered: no answer crashes the process, and none that is cut or answers another question names a user.
func FuzzAnswered(f *testing.F) {
	p := pair{netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:7878")}
	whole := answerOf(socket{pair: p, state: established, uid: 1000, inode: 77}, 1)
	refused := make([]byte, headerBytes+errorBytes)
	binary.NativeEndian.PutUint32(refused, uint32(len(refused)))
	binary.NativeEndian.PutUint16(refused[4:], errorType)
	binary.NativeEndian.PutUint32(refused[8:], 1)
	for _, seed := range [][]byte{nil, whole, whole[:20], refused} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		read, err := answered(raw, 1)
		if err == nil && len(raw) < headerBytes+socketBytes {
			t.Errorf("%d bytes were read as %+v", len(raw), read)
		}
		if err == nil {
			_, _ = read.owner(p)
		}
	})
}
