package acp

import (
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"example.org/parley"
	"example.org/parley/runner"
)

// noImages is said of a message with an image to a program that takes none.
const noImages = "The agent reads no images. Send the message again without them."

// blocksOf is what was said, as the protocol has it and the program takes it. False for
// an image that it does not take.
func (c promptCapabilities) blocksOf(said []runner.Shown) (blocks []block, ok bool) {
	for i := range said {
		piece := &said[i]
		switch piece.Kind {
		case runner.ShownImage:
			if !c.Images {
				return nil, false
			}
			blocks = append(blocks, block{
				Type: "image", MIMEType: piece.MediaType, Data: base64.StdEncoding.EncodeToString(piece.Data),
			})
		case runner.ShownFile:
			blocks = append(blocks, c.fileBlock(piece))
		case runner.ShownLink:
			blocks = append(blocks, linkBlock(piece))
		default:
			blocks = append(blocks, block{Type: "text", Text: piece.Text})
		}
	}
	return blocks, true
}

// fileBlock is a text file: embedded where the program takes that, else as a text that
// names it.
func (c promptCapabilities) fileBlock(file *runner.Shown) block {
	if c.Embedded {
		return block{Type: "resource", Resource: &resource{
			URI: fileAddress(file), MIMEType: file.MediaType, Text: string(file.Data),
		}}
	}
	name := strings.ReplaceAll(file.Name, `"`, "'")
	return block{Type: "text", Text: `<file name="` + name + "\">\n" + string(file.Data) + "\n</file>"}
}

// fileAddress names a file to the program, which cannot fetch it.
func fileAddress(file *runner.Shown) string {
	address := url.URL{Scheme: "parley", Host: "files", Path: "/" + file.FileID.String() + "/" + file.Name}
	return address.String()
}

// linkBlock is a link as a resource, if it is an address, else as a text.
func linkBlock(link *runner.Shown) block {
	address, err := url.Parse(link.URL)
	if err != nil || !address.IsAbs() {
		return block{Type: "text", Text: link.URL}
	}
	name := link.Name
	if name == "" {
		name = path.Base(address.Path)
	}
	if name == "." || name == "/" {
		name = address.Host
	}
	if name == "" {
		name = link.URL
	}
	return block{Type: "resource_link", URI: link.URL, Name: parley.Clip(name, maxTitle)}
}
