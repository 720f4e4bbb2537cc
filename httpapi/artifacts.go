package httpapi

import (
	"bytes"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

// artifactHolds is how much memory a request that reads or compares contents may take: two of them, each unpacked from
// patches on others.
const artifactHolds = 4 * parley.MaxDocumentBytes

func serveCreateArtifact(a *api, x *exchange) error {
	var input engine.ArtifactInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if x.r.PathValue("project") != "" {
		project, err := x.pathID("project")
		if err != nil {
			return err
		}
		if !input.ProjectID.IsZero() && input.ProjectID != project {
			return errOtherProject()
		}
		input.ProjectID = project
	}
	idempotency, err := x.idempotency(x.r.PathValue("project"))
	if err != nil {
		return err
	}
	artifact, _, err := a.engine.CreateArtifact(x.r.Context(), x.principal, input, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/artifacts/"+artifact.ID.String())
	return sendJSON(x, http.StatusCreated, artifact)
}

// errOtherProject refuses a project that is not the one of the path, in the same words whether it exists or not.
func errOtherProject() error {
	return parley.Errorf(
		parley.CodeNotFound,
		"The path names another project. Leave project out, or use /v1/artifacts.",
	)
}

func serveListArtifacts(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.ArtifactList{
		Paging: args.paging(), ProjectID: args.id("project"), SessionID: args.id("session"),
		Kinds: words[parley.ArtifactKind](args, "kind"), Label: args.text("label"), Name: args.text("name"),
	}
	switch args.text("archived") {
	case "", "false":
		list.Archived = new(false)
	case "true":
		list.Archived = new(true)
	case "any":
	default:
		args.fail("archived", "is not one of false, true, any")
	}
	list.Stale = parley.ValueOf(args.flag("stale"))
	if args.err != nil {
		return args.err
	}
	if x.r.PathValue("project") != "" {
		project, err := x.pathID("project")
		if err != nil {
			return err
		}
		if !list.ProjectID.IsZero() && list.ProjectID != project {
			return errOtherProject()
		}
		list.ProjectID = project
	}
	artifacts, err := a.engine.Artifacts(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, artifacts)
}

func serveArtifact(a *api, x *exchange) error {
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	artifact, err := a.engine.Artifact(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, artifact)
}

func serveUpdateArtifact(a *api, x *exchange) error {
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	var patch engine.ArtifactPatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	artifact, err := a.engine.UpdateArtifact(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, artifact)
}

func serveDeleteArtifact(a *api, x *exchange) error {
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	if err := a.engine.DeleteArtifact(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	return x.sendNothing()
}

func serveWriteArtifact(a *api, x *exchange) error {
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	var input engine.VersionInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if input.BaseVersion, err = baseVersion(x, input.BaseVersion); err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	// what If-Match says belongs to what is asked for
	idempotency, err := x.idempotency(id.String() + " " + strconv.Itoa(input.BaseVersion))
	if err != nil {
		return err
	}
	version, _, err := a.engine.WriteArtifact(x.r.Context(), x.principal, id, input, idempotency)
	if err != nil {
		return err
	}
	return sendVersion(x, version)
}

// baseVersion returns the version that a change began with, by its body or by If-Match; 0 if neither names one.
func baseVersion(x *exchange, given int) (int, error) {
	tags := x.r.Header["If-Match"]
	if len(tags) == 0 {
		return given, nil
	}
	number, err := strconv.Atoi(strings.Trim(strings.TrimSuffix(strings.TrimSpace(tags[0]), gzipTag+`"`), `"`))
	switch {
	case len(tags) > 1 || err != nil || number < 1:
		return 0, parley.InvalidField("If-Match", `must be the ETag of a content, such as "3"`)
	case given != 0 && given != number:
		return 0, parley.InvalidField("base_version", "is not the version that If-Match names; give one of them")
	}
	return number, nil
}

func sendVersion(x *exchange, version parley.ArtifactVersion) error {
	x.w.Header().Set("Location", "/v1/artifacts/"+version.ArtifactID.String()+"/versions/"+
		strconv.Itoa(version.Number))
	return sendJSON(x, http.StatusCreated, version)
}

func serveListArtifactVersions(a *api, x *exchange) error {
	args := x.arguments()
	list := args.paging()
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	versions, err := a.engine.ArtifactVersions(x.r.Context(), x.principal, id, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, versions)
}

// pathVersion reads the artifact and the number of a version from the path.
func (x *exchange) pathVersion() (parley.ID, int, error) {
	id, err := x.pathID("artifact")
	if err != nil {
		return parley.ID{}, 0, err
	}
	number, err := strconv.Atoi(x.r.PathValue("version"))
	if err != nil || number < 1 {
		return id, 0, parley.Errorf(parley.CodeNotFound, "This version does not exist: versions are numbered from 1.")
	}
	return id, number, nil
}

func serveArtifactVersion(a *api, x *exchange) error {
	id, number, err := x.pathVersion()
	if err != nil {
		return err
	}
	version, err := a.engine.ArtifactVersion(x.r.Context(), x.principal, id, number)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, version)
}

func serveRestoreArtifact(a *api, x *exchange) error {
	id, number, err := x.pathVersion()
	if err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	idempotency, err := x.idempotency(id.String() + " " + strconv.Itoa(number))
	if err != nil {
		return err
	}
	version, _, err := a.engine.RestoreArtifact(x.r.Context(), x.principal, id, number, idempotency)
	if err != nil {
		return err
	}
	return sendVersion(x, version)
}

// serveArtifactContent answers with a version's bytes, or with the requested ranges of them.
func serveArtifactContent(a *api, x *exchange) error {
	args := x.arguments()
	number := args.number("version", 1, parley.MaxArtifactVersions)
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	content, err := a.engine.ArtifactContent(x.r.Context(), x.principal, id, parley.ValueOf(number))
	if err != nil {
		return err
	}
	header := x.w.Header()
	header.Set("Content-Type", content.Artifact.ServedType(content.Version.MediaType))
	if content.Artifact.Kind == parley.ArtifactFile {
		header.Set("Content-Disposition",
			mime.FormatMediaType("attachment", map[string]string{"filename": content.Artifact.Name}))
	}
	header.Set("Content-Security-Policy", filePolicy)
	header.Set("Cache-Control", "private, no-cache")
	header.Set("ETag", strconv.Quote(strconv.Itoa(content.Version.Number)))
	if strings.Count(strings.Join(x.r.Header.Values("Range"), ","), ",") >= maxRanges {
		x.r.Header.Del("Range") // a server may answer with the whole instead
	}
	http.ServeContent(&patient{x.w, http.NewResponseController(x.w)}, x.r, "", time.Time{},
		bytes.NewReader(content.Bytes))
	return nil
}

func serveExportArtifact(a *api, x *exchange) error {
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	var input engine.ArtifactExportInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	export, err := a.engine.ExportArtifact(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, export)
}

func serveImportArtifact(a *api, x *exchange) error {
	project, err := x.pathID("project")
	if err != nil {
		return err
	}
	var input engine.ArtifactImportInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	idempotency, err := x.idempotency(project.String())
	if err != nil {
		return err
	}
	artifact, _, err := a.engine.ImportArtifact(x.r.Context(), x.principal, project, input, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/artifacts/"+artifact.ID.String())
	return sendJSON(x, http.StatusCreated, artifact)
}

func serveDiffArtifact(a *api, x *exchange) error {
	args := x.arguments()
	from, to := args.number("from", 1, parley.MaxArtifactVersions), args.number("to", 1, parley.MaxArtifactVersions)
	if args.err != nil {
		return args.err
	}
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	diff, err := a.engine.DiffArtifact(x.r.Context(), x.principal, id, parley.ValueOf(from), parley.ValueOf(to))
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, diff)
}

func serveArtifactLineage(a *api, x *exchange) error {
	args := x.arguments()
	query := engine.LineageQuery{
		Version: parley.ValueOf(args.number("version", 1, parley.MaxArtifactVersions)),
		Depth:   parley.ValueOf(args.number("depth", 1, parley.MaxLineageDepth)),
	}
	switch args.text("direction") {
	case "", "up":
	case "down":
		query.Down = true
	default:
		args.fail("direction", "is not one of up, down")
	}
	if args.values.Has("pointer") {
		query.Pointer = new(args.text("pointer"))
	}
	if args.err != nil {
		return args.err
	}
	var err error
	if query.Range, err = parley.ParseLineRange(args.text("range")); err != nil {
		return err
	}
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	lineage, err := a.engine.Lineage(x.r.Context(), x.principal, id, query)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, lineage)
}

func servePreviewRefresh(a *api, x *exchange) error {
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	shown, err := a.engine.PreviewRefresh(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, shown)
}

func serveRefreshArtifact(a *api, x *exchange) error {
	id, err := x.pathID("artifact")
	if err != nil {
		return err
	}
	var input engine.RefreshInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency(id.String())
	if err != nil {
		return err
	}
	run, _, err := a.engine.RefreshArtifact(x.r.Context(), x.principal, id, input, idempotency)
	return x.sendRun(run, err)
}
