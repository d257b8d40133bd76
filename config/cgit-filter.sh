#!/bin/sh
# commit-filter of cgit: passes the text of a commit through, and under its message shows its statuses.
# In cgitrc: commit-filter=/opt/commit-status/config/cgit-filter.sh
# COMMIT_STATUS_URL is the address of the service, COMMIT_STATUS_TOP_OWNER what its setting topOwner says: who owns
# repositories in no folder. Set them here, or in the environment of cgit.
url=${COMMIT_STATUS_URL:-http://127.0.0.1:8080}
top_owner=${COMMIT_STATUS_TOP_OWNER:-git}

# cgit calls this for the subject (one line without an end), the message and the notes.
text=$(cat; printf x)
text=${text%x}
printf '%s' "$text"
repository=${CGIT_REPO_URL%/}
repository=${repository%.git}
case $repository in
  *[!A-Za-z0-9._+@~,=/-]* | '') exit 0 ;;
  */*) ;;
  *) repository=$top_owner/$repository ;;
esac
# Of deeper folders the name is one part of the address.
repository=${repository%%/*}/$(printf '%s' "${repository#*/}" | sed 's,/,%2F,g')

of_repository() { git --git-dir="$CGIT_REPO_PATH" "$@" 2>/dev/null; }
# The first value of a parameter, without the escapes of addresses.
parameter() {
  printf '%s\n' "${QUERY_STRING:-}" | tr '&;' '\n\n' | sed -n "s/^$1=//p" | head -n 1 | tr '+' ' ' |
    LC_ALL=C awk -F % -v digits=0123456789abcdef '{
      printf "%s", $1
      for (i = 2; i <= NF; i++) {
        byte = tolower(substr($i, 1, 2))
        printf "%c%s", 16 * index(digits, substr(byte, 1, 1)) + index(digits, substr(byte, 2)) - 17, substr($i, 3)
      }
    }'
}

# As cgit does: the commit that is named, else that of the branch, else that of the default branch.
revision=$(parameter id)
revision=${revision:-$(parameter h)}
revision=${revision:-${CGIT_REPO_DEFBRANCH:-HEAD}}
# A name is looked up; what searches the history is not.
case $revision in
  -* | *[:^~\ ]* | *@\{*) exit 0 ;;
esac
sha=$(of_repository rev-parse --verify --quiet "$revision^{commit}") || exit 0

# A line without an end is the subject, unless the message has none and this is its last line: git knows.
newline='
'
case $text in
  '' | *"$newline"*) ;;
  *)
    [ -n "$(of_repository cat-file commit "$sha" | tail -c 1)" ] || exit 0
    message=$(of_repository -c log.showSignature=false log -1 --encoding=UTF-8 --format=%B "$sha" | sed '1d')
    plain=$(printf '%s' "$text" | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g')
    [ "${message##*"$newline"}" = "$plain" ] || exit 0
    ;;
esac

# Statuses of public repositories only: nobody is signed in here. Without an answer the page is as it was.
curl --silent --fail --max-time 2 --max-filesize 100000 "$url/repos/$repository/commits/$sha/fragment" 2>/dev/null
# cgit shows notes with the same filter; a subject is empty, or like the last line, in odd commits only.
# Within a message everything else is as it was typed, in lines of any length.
cat <<'END'
<style>
.commit-subject .commit-statuses,.commit-notes .commit-statuses{display:none}
.commit-statuses{margin:1em 0;font-family:sans-serif;white-space:normal;overflow-wrap:anywhere}
.commit-statuses ul{margin:.5em 0;padding:0;list-style:none}
.commit-statuses li{margin:.2em 0}
.commit-statuses .state{font-weight:bold}
.commit-statuses .success{color:#1a7f37}
.commit-statuses .failure,.commit-statuses .error{color:#cf222e}
.commit-statuses .pending{color:#9a6700}
</style>
END
exit 0
