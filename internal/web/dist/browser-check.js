// Shows a message in browsers that are too old for the app. This script must also run in browsers
// that cannot parse the app's scripts. README.md lists the supported versions.
;(function () {
  var dialog = window.HTMLDialogElement
  var known =
    'noModule' in document.createElement('script') &&
    typeof Array.prototype.at === 'function' &&
    typeof Object.hasOwn === 'function' &&
    typeof dialog === 'function' &&
    typeof dialog.prototype.showModal === 'function'
  if (!known) document.getElementById('too-old').removeAttribute('hidden')
})()
