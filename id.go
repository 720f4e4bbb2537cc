package parley

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// ID identifies every stored thing: a UUIDv7 (RFC 9562), text at the edges and 16 bytes in the databases. The zero ID
// means "absent" and is JSON null.
type ID [16]byte

var minter struct { //nolint:gochecknoglobals // all ids of a process must sort in the order of their minting
	mu   sync.Mutex // guards last and seq
	last int64
	seq  uint16
}

// NewID mints a UUIDv7. IDs minted by one process sort in the order of their minting: within a millisecond, the 12 bits
// after it count up.
func NewID() ID {
	var id ID
	if _, err := rand.Read(id[6:]); err != nil {
		panic("parley: no randomness for ids: " + err.Error()) // crypto/rand never fails on supported systems
	}
	minter.mu.Lock()
	ms := time.Now().UnixMilli()
	if ms > minter.last {
		minter.last, minter.seq = ms, 0
	} else {
		minter.seq++
		if minter.seq > 0x0fff {
			minter.last++
			minter.seq = 0
		}
		ms = minter.last
	}
	seq := minter.seq
	minter.mu.Unlock()

	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(ms)<<16)
	copy(id[:6], stamp[:6])
	binary.BigEndian.PutUint16(id[6:8], 0x7000|seq)
	id[8] = id[8]&0x3f | 0x80
	return id
}

// FirstID returns the least id that can be minted at a time: ids minted earlier are less.
func FirstID(at Time) ID {
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(max(at, 0))<<16)
	var id ID
	copy(id[:6], stamp[:6])
	return id
}

// ParseID reads the canonical text form (36 characters, any case). It refuses the zero id: inside Parley that means
// "absent".
func ParseID(text string) (ID, error) {
	var id ID
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return ID{}, Errorf(
			CodeInvalid,
			"%q is not an id: ids look like 01976c1e-7a4b-7def-8123-456789abcdef",
			Clip(text, 64),
		)
	}
	compact := make([]byte, 0, 32)
	for _, part := range [][2]int{{0, 8}, {9, 13}, {14, 18}, {19, 23}, {24, 36}} {
		compact = append(compact, text[part[0]:part[1]]...)
	}
	if _, err := hex.Decode(id[:], compact); err != nil {
		return ID{}, Errorf(
			CodeInvalid,
			"%q is not an id: it has a character that is not a hexadecimal digit",
			Clip(text, 64),
		)
	}
	if id.IsZero() {
		return ID{}, Errorf(CodeInvalid, "an id of zeros names nothing")
	}
	return id, nil
}

// IsZero reports whether the id is absent.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders ids by their bytes, which for minted ids is the order of minting.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// String returns the canonical lower-case text form; "" for the zero id.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return string(id.AppendText(make([]byte, 0, 36)))
}

// AppendText appends the 36-character form.
func (id ID) AppendText(to []byte) []byte {
	to = hex.AppendEncode(to, id[:4])
	for _, part := range [][2]int{{4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		to = append(to, '-')
		to = hex.AppendEncode(to, id[part[0]:part[1]])
	}
	return to
}

// AppendJSON appends the JSON form, null for the zero id.
func (id ID) AppendJSON(to []byte) []byte {
	if id.IsZero() {
		return append(to, "null"...)
	}
	to = append(to, '"')
	to = id.AppendText(to)
	return append(to, '"')
}

// MarshalJSON writes the text form, null for the zero id.
func (id ID) MarshalJSON() ([]byte, error) { return id.AppendJSON(make([]byte, 0, 38)), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (id *ID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*id = ID{}
		return nil
	}
	if len(data) < 2 || data[0] != '"' {
		return Errorf(CodeInvalid, "an id is a string")
	}
	return id.UnmarshalText(data[1 : len(data)-1])
}

// MarshalText writes the text form, empty for the zero id.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the text form.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
