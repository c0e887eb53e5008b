"""Pictures: arrays and words -> bytes for a browser, the JavaScript that draws them, and stills without a browser.

It knows figures and no other room of the engine, so the app's first paint uses it before torch is there.
"""
