FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="-s -w" -o /tandian . && \
    mkdir /data

# Certificates for webhooks, time zones, an unprivileged user; no shell.
FROM gcr.io/distroless/static-debian12:nonroot
LABEL org.opencontainers.image.title="Tandian" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /tandian /tandian
# A volume that is mounted here begins as a copy of it, owner included.
COPY --from=build --chown=65532:65532 /data /data
ENV TANDIAN_ADDR=:8080 TANDIAN_DATA_DIR=/data
EXPOSE 8080
VOLUME /data
USER 65532:65532
ENTRYPOINT ["/tandian"]
