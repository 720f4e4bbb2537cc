package parley

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The bounds of files.
const (
	MaxFileBytes     = 64 << 20   // one upload
	FileChunkBytes   = 256 << 10  // a stored piece of it; all but the last have this size
	MaxMessageFiles  = 16         // of one message
	MaxTextFileBytes = 256 << 10  // of a text file that a model is shown
	MaxImageBytes    = 5 << 20    // of an image that a model is shown
	MaxShownBytes    = 20 << 20   // of all files in one model request; older ones are named without their content
	MaxImagePixels   = 24_000_000 // of an image that is decoded for its thumbnail
	ThumbnailPixels  = 256        // the longer side of a thumbnail
)

// UploadGrace is how long an upload that does not grow is kept, in milliseconds.
const UploadGrace = Time(60 * 60 * 1000)

// File is an upload: a name for immutable bytes, of one workspace. Files with
// the same bytes share them.
type File struct {
	ID          ID     `json:"id"`
	WorkspaceID ID     `json:"workspace_id"`
	OwnerID     ID     `json:"owner_id"` // the principal that uploaded it
	BlobID      ID     `json:"-"`        // where its bytes are
	Name        string `json:"name"`
	MediaType   string `json:"media_type" doc:"Found by looking at the bytes. text/… is valid UTF-8."`
	Size        int64  `json:"size" doc:"Bytes."`
	SHA256      Hash   `json:"sha256"`
	Width       int    `json:"width,omitempty" doc:"Of an image, in pixels."`
	Height      int    `json:"height,omitempty" doc:"Of an image, in pixels."`
	CreatedAt   Time   `json:"created_at"`
}

// MarshalJSON writes null for what is absent.
func (f File) MarshalJSON() ([]byte, error) {
	type plain File
	return EncodeJSON(struct {
		*plain
		Width  *int `json:"width"`
		Height *int `json:"height"`
	}{(*plain)(&f), OrNull(f.Width), OrNull(f.Height)})
}

// IsText reports that the file is text, and so valid UTF-8.
func (f File) IsText() bool { return strings.HasPrefix(f.MediaType, "text/") }

// IsImage reports that the file is an image of a type that models read, whose
// size is known.
func (f File) IsImage() bool { return f.ImageType() && f.Width > 0 && f.Height > 0 }

// ImageType reports whether the file begins as an image that is decoded, though its
// size may not be readable.
func (f File) ImageType() bool {
	switch f.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// IsAudio reports that the file is sound.
func (f File) IsAudio() bool { return strings.HasPrefix(f.MediaType, "audio/") }

// FilesOf are the files that a canonical content names: of a user message's short form, or
// of the parts of any.
func FilesOf(content json.RawMessage) []ID {
	switch {
	case bytes.HasPrefix(content, []byte(`{"files":[`)): // the first of its fields
		var user struct {
			Files []ID `json:"files"`
		}
		if json.Unmarshal(content, &user) != nil {
			return nil
		}
		return user.Files
	case holdsFiles(content):
		return filesIn(PartsOf(content))
	}
	return nil
}

// PartsOf are the parts of a canonical content; nil for one in the short form. Those of a
// tool call's arguments are none.
func PartsOf(content json.RawMessage) []Part {
	if !holdsParts(content) {
		return nil
	}
	var in struct {
		Parts []Part `json:"parts"`
	}
	if json.Unmarshal(content, &in) != nil {
		return nil
	}
	return in.Parts
}
