package parley

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The bounds of files.
const (
	MaxFileBytes     = 64 << 20   // one upload
	FileChunkBytes   = 256 << 10  // a stored chunk; all but the last have this size
	MaxMessageFiles  = 16         // per message
	MaxTextFileBytes = 256 << 10  // of a text file shown to a model
	MaxImageBytes    = 5 << 20    // of an image shown to a model
	MaxShownBytes    = 20 << 20   // of all files in one model request; older ones show only their names
	MaxImagePixels   = 24_000_000 // of an image decoded for its thumbnail
	ThumbnailPixels  = 256        // the longer side of a thumbnail
)

// UploadGrace is how long an upload that does not grow is kept, in milliseconds.
const UploadGrace = Time(60 * 60 * 1000)

// File is an upload: a name for immutable bytes in one workspace. Files with the same bytes share them.
type File struct {
	ID          ID     `json:"id"`
	WorkspaceID ID     `json:"workspace_id"`
	OwnerID     ID     `json:"owner_id"` // the principal that uploaded it
	BlobID      ID     `json:"-"`        // where its bytes are
	Name        string `json:"name"`
	MediaType   string `json:"media_type" doc:"Detected from the bytes. text/… is valid UTF-8."`
	Size        int64  `json:"size" doc:"Bytes."`
	SHA256      Hash   `json:"sha256"`
	Width       int    `json:"width,omitempty" doc:"For an image, in pixels."`
	Height      int    `json:"height,omitempty" doc:"For an image, in pixels."`
	CreatedAt   Time   `json:"created_at"`
}

// MarshalJSON writes null for absent fields.
func (f File) MarshalJSON() ([]byte, error) {
	type plain File
	return EncodeJSON(struct {
		*plain
		Width  *int `json:"width"`
		Height *int `json:"height"`
	}{(*plain)(&f), OrNull(f.Width), OrNull(f.Height)})
}

// IsText reports whether the file is text, and so valid UTF-8.
func (f File) IsText() bool { return strings.HasPrefix(f.MediaType, "text/") }

// IsImage reports whether the file is an image of known size and of a type that models read.
func (f File) IsImage() bool { return f.ImageType() && f.Width > 0 && f.Height > 0 }

// ImageType reports whether the file begins like an image that Parley decodes, even if its size is unreadable.
func (f File) ImageType() bool {
	switch f.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// IsAudio reports whether the file is audio.
func (f File) IsAudio() bool { return strings.HasPrefix(f.MediaType, "audio/") }

// FilesOf returns the files that a canonical content names: in the short form of a user message, or in the parts of
// any.
func FilesOf(content json.RawMessage) []ID {
	switch {
	case bytes.HasPrefix(content, []byte(`{"files":[`)): // always the first field
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

// PartsOf returns the parts of a canonical content; nil for the short form. Parts in a tool call's arguments do not
// count.
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
