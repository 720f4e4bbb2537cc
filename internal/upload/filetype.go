package upload

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/image/webp"

	"example.org/parley"
)

// Inspection detects the type of a file while its bytes pass.
type Inspection struct {
	head []byte // up to headBytes
	rest []byte // the beginning of a rune cut by a chunk's end
	text bool   // so far valid UTF-8 without NUL
	seen bool
}

// headBytes is how much of a file is examined for its type and for the size of an image, which may follow other data.
const headBytes = 1 << 20

// UnknownType is the media type of an unrecognised file.
const UnknownType = "application/octet-stream"

// Look examines the next bytes of the file.
func (i *Inspection) Look(chunk []byte) {
	if !i.seen {
		i.seen, i.text = true, true
	}
	if room := headBytes - len(i.head); room > 0 {
		i.head = append(i.head, chunk[:min(room, len(chunk))]...)
	}
	if !i.text {
		return
	}
	if bytes.IndexByte(chunk, 0) >= 0 {
		i.text = false
		return
	}
	whole := append(i.rest, chunk...) //nolint:gocritic // rest is ours and reset below
	cut := len(whole)
	for back := 1; back < utf8.UTFMax && back <= len(whole); back++ {
		if b := whole[len(whole)-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(whole[len(whole)-back:]) {
				cut = len(whole) - back
			}
			break
		}
	}
	i.text = utf8.Valid(whole[:cut])
	i.rest = bytes.Clone(whole[cut:])
}

// Found returns the media type, and the size of an image in pixels.
func (i *Inspection) Found() (mediaType string, width, height int) {
	mediaType, _, _ = strings.Cut(http.DetectContentType(i.head), ";")
	if strings.HasPrefix(mediaType, "text/") && (!i.text || len(i.rest) > 0) {
		return UnknownType, 0, 0
	}
	config, err := imageConfig(mediaType, bytes.NewReader(i.head))
	if err != nil {
		return mediaType, 0, 0
	}
	return mediaType, config.Width, config.Height
}

func imageConfig(mediaType string, from io.Reader) (image.Config, error) {
	switch mediaType {
	case "image/png":
		return png.DecodeConfig(from)
	case "image/jpeg":
		return jpeg.DecodeConfig(from)
	case "image/gif":
		return gif.DecodeConfig(from)
	case "image/webp":
		return webp.DecodeConfig(from)
	}
	return image.Config{}, image.ErrFormat
}

// Decode reads an image of a type that File.ImageType tells, and of the size that was found.
func Decode(mediaType string, width, height int, from io.ReadSeeker) (image.Image, error) {
	switch mediaType {
	case "image/png":
		return png.Decode(from)
	case "image/jpeg":
		return jpeg.Decode(from)
	case "image/gif":
		return gif.Decode(from) // its first frame
	case "image/webp":
		if err := checkWebP(from, width, height); err != nil {
			return nil, err
		}
		return webp.Decode(from)
	}
	return nil, parley.InvalidField("file", "is not an image")
}
