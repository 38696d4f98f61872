#!/bin/sh
# compose-env.sh: generate the passwords for docker-compose.yml once.
#
#   scripts/compose-env.sh
#
# It writes .env (mode 0600) with a random password for each role, and
# deploy/redis/users.local.acl with the SHA-256 of the Redis passwords. It refuses to
# overwrite either file. Tests set another folder with $COMPOSE_ENV_DIR.
set -eu
umask 077
root=$(cd "$(dirname "$0")/.." && pwd)
env=${COMPOSE_ENV_DIR:-$root}/.env
acl=${COMPOSE_ENV_DIR:-$root/deploy/redis}/users.local.acl
for file in "$env" "$acl"; do
  if [ -e "$file" ] || [ -L "$file" ]; then
    echo "compose-env: $file exists: keep it, or remove it first" >&2
    exit 1
  fi
done

# 192 random bits in hexadecimal: they need no escapes in a URL.
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
redis=$(random) exporter=$(random)

# noclobber creates the files exclusively, without a race. A failed run removes its files,
# so that the next run can start.
set -C
: >"$acl"
trap 'rm -f "$acl"' EXIT
trap 'exit 1' HUP INT TERM
cat "$root/deploy/redis/users.acl" >|"$acl"
chmod 0644 "$acl" # the user redis of the container reads it; it contains only hashes
printf '%s\n' "$redis" | USERS_ACL="$acl" "$root/deploy/redis/password" tandian
printf '%s\n' "$exporter" | USERS_ACL="$acl" "$root/deploy/redis/password" exporter
: >"$env"
trap 'rm -f "$acl" "$env"' EXIT
cat >|"$env" <<END
# Passwords of docker-compose.yml, from scripts/compose-env.sh. Keep this file private.
POSTGRES_SUPERUSER_PASSWORD=$(random)
TANDIAN_DATABASE_PASSWORD=$(random)
TANDIAN_EXPORTER_DATABASE_PASSWORD=$(random)
TANDIAN_REDIS_PASSWORD=$redis
TANDIAN_EXPORTER_REDIS_PASSWORD=$exporter
GRAFANA_ADMIN_PASSWORD=$(random)
# With a payment provider:
#TANDIAN_FAKE_PAYMENTS=false
#TANDIAN_PAYMENT_WEBHOOK_SECRET=
END
trap - EXIT
echo "compose-env: wrote $env and $acl"
