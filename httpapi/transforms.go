package httpapi

import (
	"context"
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveRunTransform(a *api, x *exchange) error {
	var input engine.RunTransformInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	if input.DryRun {
		return a.dryRun(x, a.flush, func(ctx context.Context, watch engine.DryWatch) (engine.DryRun, error) {
			return a.engine.DryRunTransform(ctx, x.principal, input, watch)
		})
	}
	idempotency, err := x.idempotency("")
	if err != nil {
		return err
	}
	made, _, err := a.engine.RunTransform(x.r.Context(), x.principal, input, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/transforms/"+made.ID.String())
	return sendJSON(x, http.StatusCreated, made)
}

func serveRetryTransform(a *api, x *exchange) error {
	id, err := x.pathID("transform")
	if err != nil {
		return err
	}
	if err := x.hold(artifactHolds); err != nil {
		return err
	}
	idempotency, err := x.idempotency(id.String())
	if err != nil {
		return err
	}
	made, _, err := a.engine.RetryTransform(x.r.Context(), x.principal, id, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/transforms/"+made.ID.String())
	return sendJSON(x, http.StatusCreated, made)
}

func serveListTransforms(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.TransformList{
		Paging: args.paging(), ProjectID: args.id("project"), TriggerSessionID: args.id("session"),
		Definition: args.text("definition"), RunID: args.id("run"),
		Status: parley.TransformStatus(args.text("status")), Kind: parley.TransformKind(args.text("kind")),
	}
	if args.err != nil {
		return args.err
	}
	transforms, err := a.engine.Transforms(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, transforms)
}

func serveTransform(a *api, x *exchange) error {
	id, err := x.pathID("transform")
	if err != nil {
		return err
	}
	found, err := a.engine.Transform(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, found)
}

func serveCancelTransform(a *api, x *exchange) error {
	id, err := x.pathID("transform")
	if err != nil {
		return err
	}
	cancelled, err := a.engine.CancelTransform(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, cancelled)
}

func serveCreateDefinition(a *api, x *exchange) error {
	var input engine.DefinitionInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency("")
	if err != nil {
		return err
	}
	made, _, err := a.engine.CreateTransformDefinition(x.r.Context(), x.principal, input, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/transforms/definitions/"+made.ID.String())
	return sendJSON(x, http.StatusCreated, made)
}

func serveListDefinitions(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.DefinitionList{Paging: args.paging(), Status: engine.AgentFilter(args.text("status"))}
	if args.err != nil {
		return args.err
	}
	definitions, err := a.engine.TransformDefinitions(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, definitions)
}

func serveDefinition(a *api, x *exchange) error {
	args := x.arguments()
	version := parley.ValueOf(args.number("version", 1, parley.MaxArtifactVersions))
	if args.err != nil {
		return args.err
	}
	found, err := a.engine.TransformDefinition(x.r.Context(), x.principal, x.r.PathValue("definition"), version)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, found)
}

func serveListDefinitionVersions(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	versions, err := a.engine.TransformDefinitionVersions(
		x.r.Context(), x.principal, x.r.PathValue("definition"), paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, versions)
}

func serveUpdateDefinition(a *api, x *exchange) error {
	var patch engine.DefinitionPatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	changed, err := a.engine.UpdateTransformDefinition(
		x.r.Context(), x.principal, x.r.PathValue("definition"), patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, changed)
}
