#!/bin/sh
# Makes what compose.yaml needs and nobody else may have: certificates for the cluster,
# the secret of cookies, and a stand-in for the site's certificate. Keeps what is there.
set -eu
cd "$(dirname "$0")"
umask 077
days=825

if [ ! -e certificates/authority/key.pem ]; then
    mkdir -p certificates/authority
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days $days -subj "/CN=BERT Explorer cluster" \
        -keyout certificates/authority/key.pem -out certificates/authority/cert.pem
fi
# One for each role: a key that has leaked is replaced alone.
for role in scheduler worker web; do
    folder=certificates/$role
    [ ! -e $folder/key.pem ] || continue
    mkdir -p $folder
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -subj "/CN=$role" -keyout $folder/key.pem -out $folder/request.pem
    openssl x509 -req -days $days -in $folder/request.pem -CAcreateserial \
        -CA certificates/authority/cert.pem -CAkey certificates/authority/key.pem \
        -out $folder/cert.pem
    cp certificates/authority/cert.pem $folder/ca.pem
    rm $folder/request.pem
done
if [ ! -e certificates/site/privkey.pem ]; then
    mkdir -p certificates/site
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days 30 -subj "/CN=localhost" -addext "subjectAltName=DNS:localhost" \
        -keyout certificates/site/privkey.pem -out certificates/site/fullchain.pem
fi
# Containers run as user 1000, the proxy as 101; both read what is theirs alone.
if [ "$(id -u)" = 0 ]; then
    chown -R 1000:1000 certificates/scheduler certificates/worker certificates/web
    chown -R 101:101 certificates/site
else
    echo "Not root: see that user 1000 can read certificates/*, and 101 .../site." >&2
fi
[ -e .env ] || echo "COOKIE_SECRET=$(openssl rand -hex 32)" > .env
