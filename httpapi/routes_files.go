package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// fileRoutes returns the routes that upload files and give them back.
func fileRoutes() []route {
	return []route{
		{
			method:  http.MethodPost,
			paths:   []string{"/v1/files"},
			name:    "uploadFile",
			tag:     "files",
			verb:    engine.WriteFiles,
			makes:   true,
			uploads: true,
			says:    "Upload a file",
			about: "Send it as a form (field file), or as the body itself with name. At most 64 MiB; streamed, " +
				"never whole in memory. Its type is read from its bytes. Uploading the same name and bytes again " +
				"returns the existing file (200).",
			query: []parameter{
				text("name", "The file's name; it replaces the one that a form gives."),
			},
			serve: serveUploadFile,
			answers: append(
				created[parley.File]("The new file.", fileExample),
				found[parley.File]("The existing file with this name and these bytes.", fileExample)...),
			fails: []parley.Code{parley.CodeConflict},
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/files"},
			name:    "listFiles",
			tag:     "files",
			verb:    engine.ReadFiles,
			says:    "List files",
			about:   "Newest first: your own, and those that messages use which you may read.",
			query:   paging(),
			serve:   serveListFiles,
			answers: listed[parley.File](fileExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/files/{file}"},
			name:    "getFile",
			tag:     "files",
			verb:    engine.ReadFiles,
			says:    "Read a file's metadata",
			about:   "Its name, type and size; the bytes have their own path.",
			serve:   serveFile,
			answers: found[parley.File]("The file.", fileExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/files/{file}/content"},
			name:   "getFileContent",
			tag:    "files",
			verb:   engine.ReadFiles,
			says:   "Download a file",
			about:  "Supports ranges (Range, If-Range) and If-None-Match. It comes as an attachment, in a sandbox.",
			serve:  serveFileContent,
			answers: []answer{
				{
					status: http.StatusOK,
					about:  "The bytes, in the file's own media type.",
					media:  unknownMedia,
					of:     binary(),
				},
				{
					status: http.StatusPartialContent,
					about:  "The range that was asked for.",
					media:  unknownMedia,
					of:     binary(),
				},
			},
			lingers: true,
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/files/{file}/thumbnail"},
			name:   "getThumbnail",
			tag:    "files",
			verb:   engine.ReadFiles,
			says:   "Read an image's thumbnail",
			about: "JPEG, or PNG if the image is not opaque; its longer side has at most 256 pixels. 422 if the " +
				"file is not an image.",
			serve: serveThumbnail,
			answers: []answer{
				{status: http.StatusOK, about: "The thumbnail.", media: "image/jpeg", of: binary()},
				{status: http.StatusOK, about: "The thumbnail.", media: "image/png", of: binary()},
			},
		},
		{
			method: http.MethodDelete,
			paths:  []string{"/v1/files/{file}"},
			name:   "deleteFile",
			tag:    "files",
			verb:   engine.DropFiles,
			says:   "Delete a file",
			about: "409 while a message uses it: it goes with the last session that has such a message. For its " +
				"uploader and admins.",
			serve:   serveDeleteFile,
			answers: nothing("Deleted."),
			fails:   conflicting(),
		},
	}
}
