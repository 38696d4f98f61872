// Says that a browser is too old for the app, also one that cannot read the app's scripts:
// this one is written for browsers of any age. README.md lists those that are supported.
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
