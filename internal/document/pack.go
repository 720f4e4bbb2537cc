package document

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"example.org/parley"
)

// packVersion is the first byte of a pack.
const packVersion = 1

// Pack returns content as a compressed patch on base: whoever has base gets content back with Unpack, byte by byte. An
// empty base gives content compressed by itself. The same input gives a pack of the same meaning, though another
// version of the compressor may write other bytes. Both may have any bytes.
//
// A pack is a byte for the format, the lengths of base and content as varints, and a deflate stream of instructions:
// a varint n<<1 is followed by n bytes to insert; n<<1|1 copies n bytes of base and is followed by a signed varint,
// where they begin as seen from the end of the copy before.
func Pack(base, content []byte) []byte {
	packed := binary.AppendUvarint([]byte{packVersion}, uint64(len(base)))
	packed = binary.AppendUvarint(packed, uint64(len(content)))
	return deflate(packed, instructions(base, content))
}

// errPack says that a pack cannot be followed.
var errPack = errors.New("document: the pack is damaged or belongs to another base")

// Unpack returns the content that Pack was given with this base. It is an error that is not for people if the pack is
// damaged or belongs to a base of another length; whether it is this very base, only the content's hash can tell. The
// result is never longer than parley.MaxDocumentBytes, whatever the pack says.
func Unpack(base, packed []byte) ([]byte, error) {
	if len(packed) == 0 || packed[0] != packVersion {
		return nil, errPack
	}
	packed = packed[1:]
	baseSize, n := binary.Uvarint(packed)
	if n <= 0 || baseSize != uint64(len(base)) {
		return nil, errPack
	}
	packed = packed[n:]
	size, n := binary.Uvarint(packed)
	if n <= 0 || size > parley.MaxDocumentBytes {
		return nil, errPack
	}
	inflater := flate.NewReader(bytes.NewReader(packed[n:]))
	return follow(bufio.NewReader(inflater), base, int(size)) //nolint:gosec // checked above
}

// follow carries out a pack's instructions.
func follow(from *bufio.Reader, base []byte, size int) ([]byte, error) {
	out := make([]byte, 0, size)
	end := int64(0) // of the copy before
	for len(out) < size {
		code, err := binary.ReadUvarint(from)
		if err != nil {
			return nil, errPack
		}
		length := code >> 1
		if length == 0 || length > uint64(size-len(out)) { //nolint:gosec // not negative: the loop's condition
			return nil, errPack
		}
		to := len(out) + int(length) //nolint:gosec // at most size
		if code&1 == 0 {
			if _, err := io.ReadFull(from, out[len(out):to]); err != nil {
				return nil, errPack
			}
			out = out[:to]
			continue
		}
		distance, err := binary.ReadVarint(from)
		begin := end + distance
		if err != nil || begin < 0 || begin > int64(len(base))-int64(length) { //nolint:gosec // at most size
			return nil, errPack
		}
		end = begin + int64(length) //nolint:gosec // at most the base's length
		out = append(out, base[begin:end]...)
	}
	if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errPack
	}
	return out, nil
}

// deflaters are compressors to use again: one takes most of a megabyte.
var deflaters sync.Pool //nolint:gochecknoglobals // memory belongs to the process

func deflate(to, data []byte) []byte {
	out := bytes.NewBuffer(to)
	w, ok := deflaters.Get().(*flate.Writer)
	if ok {
		w.Reset(out)
	} else {
		w, _ = flate.NewWriter(out, flate.DefaultCompression) // fails for unknown levels only
	}
	_, _ = w.Write(data) // a buffer takes everything
	_ = w.Close()
	deflaters.Put(w)
	return out.Bytes()
}

// The blocks of base that a search for copies knows.
const (
	blockBytes = 16
	maxChain   = 16 // blocks of one hash that are tried
)

// instructions returns what makes content of base, uncompressed.
func instructions(base, content []byte) []byte {
	head := 0
	for head < len(base) && head < len(content) && base[head] == content[head] {
		head++
	}
	tail := 0
	for tail < min(len(base), len(content))-head && base[len(base)-1-tail] == content[len(content)-1-tail] {
		tail++
	}
	p := packer{base: base, content: content}
	p.copy(0, head)
	p.search(head, len(content)-tail)
	p.insert(len(content) - tail)
	p.copy(len(base)-tail, tail)
	return p.out
}

// packer writes instructions.
type packer struct {
	base, content []byte
	out           []byte
	done          int // bytes of content that the instructions so far make
	end           int // of the copy before, in base

	heads []int32 // by hash: the first block, counted from 1
	next  []int32 // by block: the next one of the same hash
}

// insert writes the bytes of content up to to.
func (p *packer) insert(to int) {
	if to > p.done {
		p.out = binary.AppendUvarint(p.out, uint64(to-p.done)<<1)
		p.out = append(p.out, p.content[p.done:to]...)
		p.done = to
	}
}

// copy writes a copy of bytes of base.
func (p *packer) copy(begin, length int) {
	if length > 0 {
		p.out = binary.AppendUvarint(p.out, uint64(length)<<1|1)
		p.out = binary.AppendVarint(p.out, int64(begin-p.end))
		p.end = begin + length
		p.done += length
	}
}

// search writes content from p.done up to to, but leaves bytes to insert at the end.
func (p *packer) search(at, to int) {
	if to-at < blockBytes || len(p.base) < blockBytes {
		return
	}
	p.indexBase()
	for at+blockBytes <= to {
		begin, from, length := p.longest(at, to)
		if length == 0 {
			at++
			continue
		}
		p.insert(from)
		p.copy(begin, length)
		at = p.done
	}
}

// longest returns the longest copy found that covers the block of content at at: where it begins in base and in
// content, and its length; 0 for none.
func (p *packer) longest(at, to int) (begin, from, length int) {
	block := p.heads[p.hash(p.content[at:])]
	for tried := 0; block != 0 && tried < maxChain; tried++ {
		b, c := int(block-1)*blockBytes, at
		block = p.next[block-1]
		if !bytes.Equal(p.base[b:b+blockBytes], p.content[c:c+blockBytes]) {
			continue
		}
		end := blockBytes
		for b+end < len(p.base) && c+end < to && p.base[b+end] == p.content[c+end] {
			end++
		}
		for b > 0 && c > p.done && p.base[b-1] == p.content[c-1] {
			b, c, end = b-1, c-1, end+1
		}
		if end > length {
			begin, from, length = b, c, end
		}
	}
	return begin, from, length
}

func (p *packer) indexBase() {
	blocks := len(p.base) / blockBytes
	size := 1
	for size < 2*blocks {
		size *= 2
	}
	p.heads, p.next = make([]int32, size), make([]int32, blocks)
	for i := blocks - 1; i >= 0; i-- {
		h := p.hash(p.base[i*blockBytes:])
		p.next[i], p.heads[h] = p.heads[h], int32(i+1) //nolint:gosec // a content has few blocks
	}
}

// hash is the place in heads of the block that data begins with.
func (p *packer) hash(data []byte) int {
	mixed := binary.LittleEndian.Uint64(data)*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(data[8:])
	mixed *= 0xC2B2AE3D27D4EB4F
	return int(mixed>>32) & (len(p.heads) - 1) //nolint:gosec // 32 bits
}
