#!/bin/sh
# Installs, runs, upgrades and removes the package, as root in a fresh tree without a network; scripts/package/try.js
# makes that. It prints TAP; the first step that fails is the last.
set -eu
cd /

former=/trial/former.deb
package=/trial/commit-status.deb
unit=/usr/lib/systemd/system/commit-status.service
url=http://127.0.0.1:8080

steps=0
ok() {
  steps=$((steps + 1))
  echo "ok $steps - $*"
}

fail() {
  echo "not ok $((steps + 1)) - $*"
  echo "# { total: $((steps + 1)), pass: $steps, fail: 1 }"
  exit 1
}

# What the unit says last of a name.
said() {
  sed -n "s/^$1=//p" "$unit" | tail -n 1
}

install_package() {
  DEBIAN_FRONTEND=noninteractive apt-get install --yes "$1" >/trial/apt.log 2>&1 || {
    cat /trial/apt.log
    fail "apt-get install $1"
  }
}

# As the unit does: its user and groups, no capability and no way to more, its umask, environment and command.
start() {
  : >/trial/service.log
  # shellcheck disable=SC2016 # the shell that it runs puts them in
  setpriv --reuid "$(said User)" --regid "$(said User)" --init-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$(said Environment)" \
    sh -c 'umask "$1"; exec $2' sh "$(said UMask)" "$(said ExecStart)" >/trial/service.log 2>&1 &
  service=$!
  # Says so itself, or ends.
  until grep -q '^commit-status: serving' /trial/service.log; do
    kill -0 "$service" 2>/dev/null || {
      cat /trial/service.log
      fail 'the service starts'
    }
    sleep 0.1
  done
  curl --silent --show-error --fail "$url/healthz" | grep -q '"ok"' || fail "$url/healthz"
}

stop() {
  kill -TERM "$service"
  wait "$service" || fail 'the service ends with 0'
}

# The statuses of the commit, as the API lists them.
list() {
  curl --silent --show-error --fail -H "Authorization: Bearer $token" \
    "$url/api/v1/repos/alice/hello/commits/$sha/statuses"
}

install_package "$former"
before=$(dpkg-query -W -f '${Version}' commit-status)
id commit-status | grep -q '(git)' || fail 'the user is in the group git'
[ "$(stat -c '%a %U:%G' /etc/commit-status/settings.json)" = '640 root:commit-status' ] || fail 'the settings'
[ "$(stat -c '%a %U' /var/lib/commit-status)" = '700 commit-status' ] || fail 'the folder of the store'
! pgrep -u commit-status >/dev/null || fail 'installing starts nothing'
ok "installed $before"

# What a git server has: a SHA-256 repository, and a person's clone.
mkdir -p /srv/git/alice
git init --quiet --bare --object-format=sha256 --initial-branch=main /srv/git/alice/hello.git
git config --global --add safe.directory '*'
git config --global user.name Alice
git config --global user.email alice@example.com
git init --quiet --object-format=sha256 --initial-branch=main /trial/clone
git -C /trial/clone commit --quiet --allow-empty --message one
git -C /trial/clone push --quiet /srv/git/alice/hello.git main
sha=$(git -C /trial/clone rev-parse HEAD)
chown -R root:git /srv/git
chmod -R g+rX /srv/git

start
ok 'runs as the unit says: /healthz'
token=$(commit-status token create alice | tail -n 1)
curl --silent --show-error --fail -o /dev/null -H "Authorization: Bearer $token" \
  -d '{"state":"success","context":"build"}' "$url/api/v1/repos/alice/hello/statuses/$sha"
list | grep -q '"context":"build"' || fail 'the list has what was reported'
ok 'a token, a report, the list of a SHA-256 repository'
touch /srv/git/alice/hello.git/git-daemon-export-ok
curl --silent --show-error --fail "$url/repos/alice/hello/commits/$sha" | grep -q build || fail 'the page of the commit'
ok 'the page of the commit'

cd /srv/git/alice/hello.git
git config commit-status.url "$url"
install -m 600 /dev/null /trial/gate.token
printf '%s\n' "$token" >/trial/gate.token
git config commit-status.tokenFile /trial/gate.token
git config --add commit-status.refs/heads/main.require build
printf '#!/bin/sh\nexec commit-status gate\n' >hooks/pre-receive
chmod +x hooks/pre-receive
cd /
git -C /trial/clone commit --quiet --allow-empty --message two
if git -C /trial/clone push --quiet /srv/git/alice/hello.git main 2>/trial/push.log; then
  fail 'the gate refuses a commit without a status'
fi
grep -q 'refs/heads/main needs build' /trial/push.log || fail "the gate says why: $(cat /trial/push.log)"
git -C /trial/clone push --quiet /srv/git/alice/hello.git HEAD:refs/heads/wip
two=$(git -C /trial/clone rev-parse HEAD)
COMMIT_STATUS_TOKEN=$token commit-status status report alice/hello "$two" --state success --context build \
  --url "$url" >/dev/null
git -C /trial/clone push --quiet /srv/git/alice/hello.git main || fail 'the gate lets a green commit pass'
ok 'the gate, as a hook'

sed -i 's/"port": 8080/"port": 8080,\n  "title": "Ours"/' /etc/commit-status/settings.json
kept=$(list)
stop
# As `systemctl enable` does.
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -s "$unit" /etc/systemd/system/multi-user.target.wants/
install_package "$package"
now=$(dpkg-query -W -f '${Version}' commit-status)
[ "$now" != "$before" ] || fail 'it is another version'
grep -q Ours /etc/commit-status/settings.json || fail 'the settings stay'
start
[ "$(list)" = "$kept" ] || fail 'the statuses stay'
curl --silent --show-error --fail "$url/" | grep -q Ours || fail 'the settings count'
stop
ok "upgraded from $before to $now, with statuses and settings"

apt-get remove --yes commit-status >/trial/apt.log 2>&1
for file in /usr/lib/commit-status /usr/bin/commit-status "$unit"; do
  [ ! -e "$file" ] || fail "$file is gone"
done
[ -e /etc/commit-status/settings.json ] || fail 'removing keeps the settings'
ok removed
apt-get purge --yes commit-status >/trial/apt.log 2>&1
grep -q 'the statuses stay in /var/lib/commit-status' /trial/apt.log || fail 'a purge says what it keeps'
[ ! -e /etc/commit-status ] || fail 'the settings are gone'
[ -e /var/lib/commit-status/store/CURRENT ] || fail 'the statuses are kept'
left=$(find / -xdev -name '*commit-status*' -not -path '/trial/*' -not -path '/proc/*' -not -path '/srv/*' \
  -not -path /var/lib/commit-status)
[ -z "$left" ] || fail "left behind: $left"
ok 'purged, with the statuses kept'
echo "# { total: $steps, pass: $steps }"
