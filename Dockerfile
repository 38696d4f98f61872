# syntax=docker/dockerfile:1
# docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT="$(git rev-parse HEAD)" -t tandian:v1.2.3 .

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# Shown by `tandian version`, because .git is not copied. They change with each release, so
# they come after the cached layers.
ARG VERSION=unreleased
ARG COMMIT=unknown
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -pgo=deploy/server.pgo \
        -ldflags="-s -w -X github.com/tandian-dev/tandian/internal/app.releaseVersion=${VERSION} -X github.com/tandian-dev/tandian/internal/app.releaseCommit=${COMMIT}" -o /tandian . && \
    mkdir -m 0700 /data

# Certificates for webhooks, time zones, an unprivileged user; no shell.
FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=unreleased
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="Tandian" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /tandian /tandian
# A new volume mounted here is initialised from it, including its owner.
COPY --from=build --chown=65532:65532 /data /data
ENV TANDIAN_ADDR=:8080 TANDIAN_DATA_DIR=/data
EXPOSE 8080
VOLUME /data
USER 65532:65532
# The image has no curl: the program probes itself. A start may take a minute (--start-timeout).
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 CMD ["/tandian", "probe"]
ENTRYPOINT ["/tandian"]
