package upload

import (
	"encoding/binary"
	"errors"
	"io"
)

const (
	riffHeader = 12 // RIFF, the size of the rest, WEBP
	riffChunk  = 8  // a name and a size
	// maxRIFFChunks bounds what stands before the picture.
	maxRIFFChunks = 256
)

var errWebP = errors.New("upload: a WebP file contradicts itself")

// checkWebP reports whether a WebP file holds a picture of the size that its header says,
// and no more bytes than it has: the decoder makes room for whatever they say. It leaves
// the file at its beginning.
func checkWebP(from io.ReadSeeker, width, height int) error {
	size, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var head [riffHeader]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return err
	}
	if claimed := int64(binary.LittleEndian.Uint32(head[4:])); claimed > size-riffChunk {
		return errWebP
	}
	at := int64(riffHeader)
	for range maxRIFFChunks {
		var chunk [riffChunk + 10]byte // and the beginning of a picture
		n, err := io.ReadFull(from, chunk[:])
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n < riffChunk {
			return errWebP
		}
		length := int64(binary.LittleEndian.Uint32(chunk[4:]))
		if at += riffChunk; length > size-at {
			return errWebP
		}
		if w, h, is := pictureSize(string(chunk[:4]), chunk[riffChunk:n]); is {
			if w != width || h != height {
				return errWebP
			}
			_, err := from.Seek(0, io.SeekStart)
			return err
		}
		at += length + length%2
		if _, err := from.Seek(at, io.SeekStart); err != nil {
			return err
		}
	}
	return errWebP
}

// pictureSize reads the size of a picture from the beginning of its chunk.
func pictureSize(name string, data []byte) (width, height int, is bool) {
	switch {
	case name == "VP8L" && len(data) >= 5: // a mark, 14 bits for each side less one
		bits := binary.LittleEndian.Uint32(data[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case name == "VP8 " && len(data) >= 10: // a tag, a mark, 14 bits for each side
		return int(
				binary.LittleEndian.Uint16(data[6:]) & 0x3fff,
			), int(
				binary.LittleEndian.Uint16(data[8:]) & 0x3fff,
			), true
	case name == "VP8L" || name == "VP8 ":
		return 0, 0, true // cut off
	}
	return 0, 0, false
}
