package acp

import (
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/acpwire"
	"example.org/parley/runner"
)

// noImages fails a message with an image if the program accepts no images.
const noImages = "The agent reads no images. Send the message again without them."

// blocksOf encodes messages in the forms that the program accepts. It returns false if one has an image and the
// program accepts none.
func blocksOf(c acpwire.PromptCapabilities, said []runner.Shown) (blocks []acpwire.Block, ok bool) {
	for i := range said {
		piece := &said[i]
		switch piece.Kind {
		case runner.ShownImage:
			if !c.Images {
				return nil, false
			}
			blocks = append(blocks, acpwire.Block{
				Type: "image", MIMEType: piece.MediaType, Data: base64.StdEncoding.EncodeToString(piece.Data),
			})
		case runner.ShownFile:
			blocks = append(blocks, fileBlock(c, piece))
		case runner.ShownLink:
			blocks = append(blocks, linkBlock(piece))
		default:
			blocks = append(blocks, acpwire.Block{Type: "text", Text: piece.Text})
		}
	}
	return blocks, true
}

// fileBlock encodes a text file: embedded if the program accepts that, else as a text that names it.
func fileBlock(c acpwire.PromptCapabilities, file *runner.Shown) acpwire.Block {
	if c.Embedded {
		return acpwire.Block{Type: "resource", Resource: &acpwire.Resource{
			URI: fileAddress(file), MIMEType: file.MediaType, Text: string(file.Data),
		}}
	}
	name := strings.ReplaceAll(file.Name, `"`, "'")
	return acpwire.Block{Type: "text", Text: `<file name="` + name + "\">\n" + string(file.Data) + "\n</file>"}
}

// fileAddress returns a name for a file. The program cannot fetch it.
func fileAddress(file *runner.Shown) string {
	address := url.URL{Scheme: "parley", Host: "files", Path: "/" + file.FileID.String() + "/" + file.Name}
	return address.String()
}

// linkBlock encodes a link: as a resource if it is an address, else as a text.
func linkBlock(link *runner.Shown) acpwire.Block {
	address, err := url.Parse(link.URL)
	if err != nil || !address.IsAbs() {
		return acpwire.Block{Type: "text", Text: link.URL}
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
	return acpwire.Block{Type: "resource_link", URI: link.URL, Name: parley.Clip(name, maxTitle)}
}
