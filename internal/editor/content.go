package editor

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/acpwire"
)

// maxInline bounds the text of a resource that stands in the message itself; a longer one becomes a file.
const maxInline = 16 << 10

// partsOf makes a message of a prompt. Images, audio and long resources become files.
func (s *server) partsOf(ctx context.Context, prompt []acpwire.Block) ([]parley.Part, error) {
	if len(prompt) == 0 {
		return nil, parley.InvalidField("prompt", "is empty; say something")
	}
	if len(prompt) > parley.MaxParts {
		return nil, parley.InvalidField("prompt", "at most %d blocks", parley.MaxParts)
	}
	var parts []parley.Part
	files := map[parley.ID]bool{} // a message names each once
	for i := range prompt {
		b := &prompt[i]
		part, data, name, err := partOf(b)
		if err != nil {
			return nil, err
		}
		if data != nil {
			var file parley.File
			err := s.patiently(ctx, func() (err error) {
				file, err = s.api.UploadFile(ctx, bytes.NewReader(data), client.UploadFileQuery{Name: name})
				return err
			})
			if err != nil {
				return nil, err
			}
			if part = parley.FilePart(file); files[file.ID] {
				continue
			}
			files[file.ID] = true
		}
		if part.Type != parley.PartText || part.Text != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return nil, parley.InvalidField("prompt", "is empty; say something")
	}
	return parts, nil
}

// partOf reads a block: what it says, or the content of the file that it becomes.
func partOf(b *acpwire.Block) (part parley.Part, data []byte, name string, err error) {
	switch b.Type {
	case acpwire.BlockText:
		return parley.Part{Type: parley.PartText, Text: b.Text}, nil, "", nil
	case acpwire.BlockImage, acpwire.BlockAudio:
		data, err = decoded(b.Data)
		return part, data, nameOf(b.URI, b.Type), err
	case acpwire.BlockLink:
		if address, err := url.Parse(b.URI); err == nil && (address.Scheme == "http" || address.Scheme == "https") {
			return parley.Part{Type: parley.PartLink, URL: b.URI, Title: parley.Clip(b.Name, maxTitle)}, nil, "", nil
		}
		// Nothing but the editor can read it.
		return parley.Part{Type: parley.PartText, Text: "[" + b.Name + "](" + pathOf(b.URI) + ")"}, nil, "", nil
	case acpwire.BlockResource:
		switch r := b.Resource; {
		case r == nil:
		case r.Blob != "":
			data, err = decoded(r.Blob)
			return part, data, nameOf(r.URI, "file"), err
		case len(r.Text) > maxInline:
			return part, []byte(r.Text), nameOf(r.URI, "file.txt"), nil
		default:
			name := strings.ReplaceAll(pathOf(r.URI), `"`, "'")
			return parley.Part{
				Type: parley.PartText, Text: `<file name="` + name + "\">\n" + r.Text + "\n</file>",
			}, nil, "", nil
		}
	}
	return part, nil, "", parley.InvalidField("prompt", "a block of type %q cannot be read", parley.Clip(b.Type, 32))
}

func decoded(data string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return nil, parley.InvalidField("prompt", "the data of a block is not base64")
	}
	return raw, nil
}

// pathOf is the path of a file's address, and any other address as it is.
func pathOf(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.Scheme == "file" && parsed.Path != "" {
		return parsed.Path
	}
	return address
}

// nameOf is a name for a file.
func nameOf(address, otherwise string) string {
	name := path.Base(pathOf(address))
	if address == "" || name == "." || name == "/" {
		return otherwise
	}
	return parley.Clip(name, maxTitle)
}

// textOf is what the parts of a message say.
func textOf(parts []parley.Part) string {
	said := make([]string, len(parts))
	for i := range parts {
		said[i] = parts[i].Plain()
	}
	return strings.Join(said, "\n")
}
